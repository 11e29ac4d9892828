package flight

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns the JSON form of s, made once and kept: the bytes that REST
// answers and webhook bodies consist of. The caller must not change them. It
// must first be called before s is shared.
func (s *Snapshot) Encode() []byte {
	if s.encoded == nil {
		type plain Snapshot // without MarshalJSON
		b, err := json.Marshal((*plain)(s))
		if err != nil { // only strings, numbers and times: cannot happen
			panic(fmt.Sprintf("flight: encode snapshot: %v", err))
		}
		s.encoded = b
	}
	return s.encoded
}

// MarshalJSON returns [Snapshot.Encode].
func (s *Snapshot) MarshalJSON() ([]byte, error) { return s.Encode(), nil }

// DecodeSnapshot reads what Encode wrote and keeps b as its encoded form.
func DecodeSnapshot(b []byte) (*Snapshot, error) {
	type plain Snapshot
	s := new(Snapshot)
	if err := json.Unmarshal(b, (*plain)(s)); err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", err)
	}
	s.encoded = b
	return s, nil
}

var fetchedAtName = []byte(`"fetchedAt":"`)

// FetchedAgain returns s as it is when the upstream said the same once more at
// the later time t. The encoded form is patched, not made anew.
func (s *Snapshot) FetchedAgain(t Time) *Snapshot {
	if t == s.FetchedAt {
		return s
	}
	c := *s
	c.FetchedAt = t
	c.encoded = nil
	// The name cannot occur earlier inside a string: its quotes would be escaped.
	was, now := s.FetchedAt.String(), t.String()
	if i := bytes.Index(s.encoded, fetchedAtName); i >= 0 && len(was) == len(now) {
		c.encoded = bytes.Clone(s.encoded)
		copy(c.encoded[i+len(fetchedAtName):], now)
	}
	return &c
}

// With returns s as it comes from p.
func (s *Snapshot) With(p Provenance) *Snapshot {
	c := *s
	c.Provenance = p
	return &c
}

// SameContent reports whether a and b say the same but for when they were
// fetched, and for the address at which this service serves flags: each process
// may have its own.
func SameContent(a, b *Snapshot) bool {
	const never Time = 1 // any moment that is the same for both
	was := a.FetchedAgain(never).Encode()
	if bytes.Equal(was, b.FetchedAgain(never).Encode()) {
		return true
	}
	again, moved := b.withFlagsOf(a)
	return moved && bytes.Equal(was, again.FetchedAgain(never).Encode())
}

// withFlagsOf returns s with the addresses of flags that a has; moved is false
// when they are the same.
func (s *Snapshot) withFlagsOf(a *Snapshot) (c *Snapshot, moved bool) {
	copied := *s
	copied.encoded = nil
	c = &copied
	put := func(to, from *Endpoint) {
		if country, other := &to.Airport.Country, &from.Airport.Country; *country != *other {
			country.FlagSVG, country.FlagSVGSquare, moved = other.FlagSVG, other.FlagSVGSquare, true
		}
	}
	put(&c.Departure, &a.Departure)
	put(&c.Arrival, &a.Arrival)
	if c.Diverted != nil && a.Diverted != nil {
		d := *c.Diverted
		c.Diverted = &d
		put(c.Diverted, a.Diverted)
	}
	return c, moved
}
