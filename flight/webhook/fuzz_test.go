package webhook

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// A URL that passes can be sent to, and is what a client takes it for.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{
		"https://example.com/hook?a=b", "http://[2606:4700::1111]:8443/", "http://10.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/",
		"http://2130706433/", "http://0x7f.1/", "http://127.1", "http://localhost./", "http://metadata.google.internal", "https://user:pass@example.com",
		"https://example.com#", "ftp://example.com", "https://example.com:0/", "https://ⓛocalhost/", "http://[fe80::1%25eth0]/", "https://example.com/\x00", "//example.com", "https:example.com",
		"http://168.63.129.16/", "https://a..b/", "http://EXAMPLE.com:65535/%zz", "http://example.com\\@localhost/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		private := CheckURL(raw, true)
		if CheckURL(raw, false) != nil {
			return
		}
		if private != nil {
			t.Errorf("%q passes only where private addresses may not", raw)
		}
		req, err := http.NewRequest("POST", raw, nil)
		if err != nil {
			t.Fatalf("%q passes and cannot be sent to: %v", raw, err)
		}
		u := req.URL
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Opaque != "" || len(raw) > MaxURL {
			t.Errorf("%q passes as %+v", raw, u)
		}
		host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
			t.Errorf("%q passes with the host %q", raw, host)
		}
		if addr, err := netip.ParseAddr(host); err == nil && (!addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Is4In6() || addr.Zone() != "") {
			t.Errorf("%q passes with the address %s", raw, addr)
		}
		if again, err := url.Parse(u.String()); err != nil || again.Host != u.Host || CheckURL(u.String(), false) != nil && len(u.String()) <= MaxURL {
			t.Errorf("%q is written as %q, which does not pass", raw, u)
		}
	})
}

// Headers that pass reach the receiver as they are, and none of them can stand
// for one of ours.
func FuzzCheckHeaders(f *testing.F) {
	f.Add("X-Team", "ops", "Authorization", "Bearer x", "legacy")
	f.Add("x-service-event-id", "1", "X-LEGACY-signature", "2", "legacy")
	f.Add("Host", "a", "host", "b", "")
	f.Add("a b", "c", "X-A", "é\r\nX-B: c", "legacy")
	f.Add("Transfer-Encoding", "chunked", "webhook-id", "\x7f", "x")
	f.Add("", "", "X-\xff", "\xff", "-")
	f.Add("X-A", " padded ", "x-a", "", "legacy")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2, prefix string) {
		headers := map[string]string{name1: value1, name2: value2}
		faults := CheckHeaders(headers, prefix)
		if len(faults) > len(headers)+2 {
			t.Fatalf("%d faults of %d headers", len(faults), len(headers))
		}
		if len(faults) > 0 || CheckLegacyPrefix(prefix) != nil {
			return
		}
		sent := http.Header{}
		for name, value := range headers {
			sent.Set(name, value)
			if !utf8.ValidString(value) || strings.ContainsAny(name+value, "\r\n\x00") {
				t.Errorf("%q: %q passes", name, value)
			}
			lower := strings.ToLower(name)
			for _, ours := range []string{"x-service-", "webhook-", "content-", "host", "user-agent", "transfer-encoding", "x-" + prefix + "-"} {
				if prefix == "" && ours == "x--" || ours == "content-" {
					continue
				}
				if lower == ours || strings.HasSuffix(ours, "-") && strings.HasPrefix(lower, ours) {
					t.Errorf("%q passes", name)
				}
			}
		}
		if len(sent) != len(headers) {
			t.Errorf("%q become %d headers", headers, len(sent))
		}
		var written strings.Builder
		if err := sent.Write(&written); err != nil || strings.Count(written.String(), "\r\n") != len(headers) {
			t.Errorf("%q are written as %q, %v", headers, written.String(), err)
		}
	})
}

// A client's secret that passes signs, and its masked form shows no more than
// its last four characters.
func FuzzCheckSecret(f *testing.F) {
	for _, s := range []string{"0123456789abcdef", GenerateSecret(), "short", strings.Repeat("s", 257), "whsec_!!!!!!!!!!!!!!!!", "sixteen é chars..", strings.Repeat("\x00", 16)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		if CheckSecret(secret) != nil {
			return
		}
		if len(secret) < 16 || len(secret) > 256 {
			t.Errorf("%q passes", secret)
		}
		masked := MaskSecret(secret)
		if shown := strings.TrimPrefix(masked, "whsec_****"); len(shown) > 4 || !strings.HasSuffix(secret, shown) {
			t.Errorf("%q is masked as %q", secret, masked)
		}
		now := time.Unix(1767225600, 0)
		if err := Verify(secret, Sign(secret, now.Unix(), []byte("{}")), []byte("{}"), now); err != nil {
			t.Error(err)
		}
	})
}

// What a receiver answers is kept within its bounds, as text that every
// database takes, and no wait that it asks for is longer than promised.
func FuzzAnswer(f *testing.F) {
	f.Add(503, "120", []byte("busy"))
	f.Add(429, "Wed, 21 Oct 2026 07:28:00 GMT", []byte("\xff\x00é"))
	f.Add(503, "99999999999999999999", []byte(strings.Repeat("é", 600)))
	f.Add(200, "-1", []byte{})
	f.Add(503, "1e3", []byte("\xe2\x82"))
	f.Fuzz(func(t *testing.T, status int, wait string, body []byte) {
		w := httptest.NewRecorder()
		_, _ = w.Write(body)
		resp := w.Result()
		resp.StatusCode = status
		resp.Header["Retry-After"] = []string{wait}
		if d := retryAfter(resp, time.Unix(1767225600, 0)); d < 0 || d > MaxRetryAfter {
			t.Errorf("%q asks for %s", wait, d)
		}
		if kept := readAnswer(resp); len(kept) > MaxResponseBody || !utf8.Valid(kept) || strings.Contains(string(kept), "\x00") {
			t.Errorf("%d bytes kept: %q", len(kept), kept)
		}
	})
}
