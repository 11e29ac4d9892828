package graph

import (
	"context"

	"golang.org/x/text/language"

	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/places"
)

// Countries returns the countries of ISO 3166-1 with their names in the
// language nearest to lang, in its alphabetical order. CodeInvalid when lang is
// no BCP 47 tag.
func (q *queries) Countries(ctx context.Context, lang string) ([]flight.CountryRef, error) {
	tag, err := q.language(ctx, lang)
	if err != nil {
		return nil, err
	}
	countries := q.r.cfg.Countries.Countries(tag)
	refs := make([]flight.CountryRef, len(countries))
	for i, c := range countries {
		refs[i] = c.Ref(q.r.cfg.BaseURL)
	}
	return refs, nil
}

// Country returns one country, as [queries.Countries] does. CodeInvalid when
// lang is no BCP 47 tag, CodeCountryNotFound when ISO 3166-1 has no such code.
func (q *queries) Country(ctx context.Context, code, lang string) (*flight.CountryRef, error) {
	tag, err := q.language(ctx, lang)
	if err != nil {
		return nil, err
	}
	c, ok := q.r.cfg.Countries.Country(code, tag)
	if !ok {
		return nil, flight.Errorf(flight.CodeCountryNotFound,
			"There is no country %.32q. Use an alpha-2 code of ISO 3166-1, such as IS; /v1/countries lists them.", code)
	}
	ref := c.Ref(q.r.cfg.BaseURL)
	return &ref, nil
}

// language reads the language that an account asks for.
func (q *queries) language(ctx context.Context, lang string) (language.Tag, error) {
	if _, err := account(ctx); err != nil {
		return language.Und, err
	}
	tag, ok := places.ParseLanguage(lang)
	if !ok {
		var v flight.Invalid
		v.Add("lang", "must be a BCP 47 language tag, such as de or pt-BR")
		return language.Und, v.Err()
	}
	return tag, nil
}
