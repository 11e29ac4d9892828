package rest

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// countryList is the body of GET /v1/countries.
type countryList struct {
	Count int                 `json:"count"`
	Data  []flight.CountryRef `json:"data"` // in the language's alphabetical order
}

// listCountries answers GET /v1/countries.
func (a *api) listCountries(ctx context.Context, r *http.Request) (answer, error) {
	lang, err := language(r)
	if err != nil {
		return answer{}, err
	}
	list, err := a.query.Countries(ctx, lang)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: encode(countryList{len(list), list})}, nil
}

// getCountry answers GET /v1/countries/{code}.
func (a *api) getCountry(ctx context.Context, r *http.Request) (answer, error) {
	lang, err := language(r)
	if err != nil {
		return answer{}, err
	}
	c, err := a.query.Country(ctx, r.PathValue("code"), lang)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: encode(c)}, nil
}

// language reads the language that names are asked for in.
func language(r *http.Request) (string, error) {
	q := newQuery(r)
	lang := cmp.Or(q.text("lang"), "en")
	return lang, q.faults.Err()
}

// How long an image may be kept without asking again. A plain drawing is there
// until a build has the real flag.
const (
	keepFlag    = "public, max-age=2592000" // 30 days
	keepDrawing = "public, max-age=86400"   // a day
)

// getFlag answers GET /v1/flags/{file}. The image may run nothing and load
// nothing where it is opened by itself.
func (a *api) getFlag(_ context.Context, r *http.Request) (answer, error) {
	q := newQuery(r)
	shape := places.Shape(cmp.Or(q.text("shape"), string(places.Oblong)))
	if !shape.Valid() {
		q.faults.Add("shape", "must be 4x3 or 1x1")
	}
	if err := q.faults.Err(); err != nil {
		return answer{}, err
	}
	file := r.PathValue("file")
	flag, ok := a.flags.Flag(file, shape)
	if !ok {
		return answer{}, flight.Errorf(codeFlagNotFound,
			"There is no flag %.32q. Use an alpha-2 code of ISO 3166-1 and .svg, such as is.svg.", file)
	}
	keep := keepFlag
	if flag.Drawn {
		keep = keepDrawing
	}
	header := http.Header{
		"Cache-Control":           {keep},
		"Content-Security-Policy": {"default-src 'none'; style-src 'unsafe-inline'"},
		"Etag":                    {flag.ETag},
		"X-Content-Type-Options":  {"nosniff"},
	}
	if known(r.Header["If-None-Match"], flag.ETag) {
		return answer{status: http.StatusNotModified, header: header}, nil
	}
	header["Content-Type"] = []string{"image/svg+xml"}
	return answer{status: http.StatusOK, body: flag.SVG(), header: header}, nil
}

// known reports whether If-None-Match, in any of its forms, names an entity
// tag. Our tags have no comma in them.
func known(ifNoneMatch []string, tag string) bool {
	for _, line := range ifNoneMatch {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
