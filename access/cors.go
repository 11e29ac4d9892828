package access

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// CORS says which pages of other origins a browser lets call the interface. It
// is off by default, since keys are for servers. The zero CORS is off.
type CORS struct {
	any     bool
	origins map[string]bool
}

// What a page may send and read, and for how long a browser keeps the answer to
// its question: two hours is as long as any of them does.
const (
	corsMethods = "GET, HEAD, POST, PATCH, DELETE"
	corsHeaders = "x-api-key, authorization, content-type, idempotency-key, x-request-id, if-none-match"
	corsExposed = "X-RateLimit-Limit-Minute, X-RateLimit-Remaining-Minute, X-RateLimit-Reset-Minute, " +
		"X-RateLimit-Limit-Day, X-RateLimit-Remaining-Day, X-RateLimit-Reset-Day, Retry-After, X-Request-Id, ETag"
	corsMaxAge = "7200" // seconds
)

// ParseCORS reads a comma list of exact origins, such as
// https://app.example.com, or * for every origin. The empty list is off. The
// error says what is wrong with which entry.
func ParseCORS(list string) (CORS, error) {
	if strings.TrimSpace(list) == "" {
		return CORS{}, nil
	}
	c := CORS{origins: map[string]bool{}}
	entries := strings.Split(list, ",")
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		if entry == "*" {
			if len(entries) > 1 {
				return CORS{}, errors.New("* stands for every origin and must stand alone")
			}
			return CORS{any: true}, nil
		}
		origin, err := parseOrigin(entry)
		if err != nil {
			return CORS{}, err
		}
		c.origins[origin] = true
	}
	return c, nil
}

var defaultPorts = map[string]string{"http": ":80", "https": ":443"}

// parseOrigin returns an origin as browsers write it.
func parseOrigin(entry string) (string, error) {
	u, err := url.Parse(entry)
	port, isWeb := defaultPorts[strings.ToLower(strings.SplitN(entry, ":", 2)[0])]
	switch {
	case err != nil || !isWeb || u.Hostname() == "" || strings.HasSuffix(u.Host, ":"),
		strings.ContainsFunc(u.Host, func(c rune) bool { return c == '*' || c <= ' ' || c > '~' }),
		u.User != nil, strings.ContainsAny(entry, "?#"), u.Path != "":
		return "", fmt.Errorf("%q is not an origin: scheme, host and perhaps a port, such as https://app.example.com", entry)
	}
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), port), nil
}

// On reports whether any page may call.
func (c CORS) On() bool { return c.any || len(c.origins) > 0 }

// Wrap returns next with CORS: preflights are answered, and answers say who may
// read them. Where CORS is off it is next itself.
func (c CORS) Wrap(next http.Handler) http.Handler {
	if !c.On() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if !c.any {
			h.Add("Vary", "Origin") // a cache must not give one origin's answer to another
		}
		origins := r.Header["Origin"]
		if len(origins) != 1 || !c.any && !c.origins[origins[0]] {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origins[0])
		if c.any {
			h.Set("Access-Control-Allow-Origin", "*")
		}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsHeaders)
			h.Set("Access-Control-Max-Age", corsMaxAge)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		h.Set("Access-Control-Expose-Headers", corsExposed)
		next.ServeHTTP(w, r)
	})
}

// Origins lists what is allowed, for a log: "*" for every origin.
func (c CORS) Origins() []string {
	if c.any {
		return []string{"*"}
	}
	list := make([]string, 0, len(c.origins))
	for origin := range c.origins {
		list = append(list, origin)
	}
	slices.Sort(list)
	return list
}
