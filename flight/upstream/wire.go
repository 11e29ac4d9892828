package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MaxRows bounds the flights of one answer: a number has a few legs in some
// days, and a row for each of a dozen codeshares.
const MaxRows = 500

// Decode reads a JSON body whose first character must be open, '{' or '['.
// A field of a wrong type counts as absent, and the first such is returned as
// mistyped: what a snapshot cannot do without is checked where it is read.
func Decode(body []byte, open byte, into any) (mistyped *json.UnmarshalTypeError, err error) {
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != open {
		return nil, errors.New("the answer is no JSON " + map[byte]string{'{': "object", '[': "array"}[open])
	}
	err = json.Unmarshal(body, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrong, nil
	}
	if err != nil {
		return nil, errors.New("the answer is no JSON: " + err.Error())
	}
	return nil, nil
}

// Text is a short string that may come as a number; what is neither is empty.
type Text string

// maxText bounds a Text: no gate, name or id is longer.
const maxText = 200

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s string
	switch {
	case len(b) == 0:
	case isPlain(b):
		s = string(b[1 : len(b)-1])
	case b[0] == '"':
		_ = json.Unmarshal(b, &s)
	case b[0] == '-' || b[0] >= '0' && b[0] <= '9':
		s = string(b)
	}
	*t = Text(Clip(strings.TrimSpace(s), maxText))
	return nil
}

// isPlain reports whether b is a JSON string that stands for itself.
func isPlain(b []byte) bool {
	if len(b) < 2 || b[0] != '"' {
		return false
	}
	for _, c := range b[1 : len(b)-1] {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// ParseTime reads a moment in one of the layouts. One that no flight can have
// is an error like one that is no time.
func ParseTime(s string, layouts ...string) (time.Time, error) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 && t.Year() < 2200 {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time", Clip(s, 40))
}

// Number brings a flight number into the form of keys: in upper case, without
// the zeros before its digits. What is no flight number stays as it is.
func Number(s string) string {
	n := strings.ToUpper(s)
	if trimmed := strings.TrimLeft(n, "0"); trimmed != "" && trimmed[0] >= '1' && trimmed[0] <= '9' {
		return trimmed
	}
	return n
}
