package flight

import (
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Time is a moment in Unix milliseconds, the precision in which the contract
// writes times. Zero means unknown. Being an integer, it is compared without
// allocation and is the same in every zone.
type Time int64

// TimeOf returns t as a Time; the zero time.Time is unknown.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Std returns t as a time.Time in UTC; unknown is the zero time.Time.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Known reports whether t is a moment at all.
func (t Time) Known() bool { return t != 0 }

// Minutes returns the minutes from earlier to t, negative when t is before it.
// Seconds are cut off on both sides first, as schedules are read.
func (t Time) Minutes(earlier Time) int {
	return int(floorMinute(t) - floorMinute(earlier))
}

func floorMinute(t Time) int64 {
	m := int64(t) / 60_000
	if int64(t)%60_000 < 0 {
		m--
	}
	return m
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// String returns ISO 8601 UTC with milliseconds and Z, or "" when unknown.
func (t Time) String() string {
	if t == 0 {
		return ""
	}
	return t.Std().Format(timeLayout)
}

// MarshalJSON writes the string form; unknown is null.
func (t Time) MarshalJSON() ([]byte, error) { return t.appendJSON(nil), nil }

func (t Time) appendJSON(b []byte) []byte {
	if t == 0 {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.Std().AppendFormat(b, timeLayout)
	return append(b, '"')
}

// UnmarshalJSON reads what MarshalJSON writes, and any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = 0
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return Errorf(CodeInvalid, "The value must be a time as a string.")
	}
	if err := t.parse(s); err != nil {
		return Errorf(CodeInvalid, "The value must be a time in ISO 8601 with an offset or Z, such as 2026-11-21T20:00:00Z.")
	}
	return nil
}

func (t *Time) parse(s string) error {
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return errors.New("a time must be ISO 8601 with an offset or Z")
	}
	if y := v.UTC().Year(); y < 0 || y > 9999 { // the offset took it there, and String could not write it
		return errors.New("a time must be in the years 0 to 9999, UTC")
	}
	*t = TimeOf(v)
	return nil
}

// MarshalGQL writes the GraphQL scalar DateTime.
func (t Time) MarshalGQL(w io.Writer) { _, _ = w.Write(t.appendJSON(nil)) }

// UnmarshalGQL reads the GraphQL scalar DateTime.
func (t *Time) UnmarshalGQL(v any) error {
	s, ok := v.(string)
	if !ok {
		return Errorf(CodeInvalid, "The value must be a time as a string.")
	}
	if err := t.parse(s); err != nil {
		return Errorf(CodeInvalid, "The value must be a time in ISO 8601 with an offset or Z, such as 2026-11-21T20:00:00Z.")
	}
	return nil
}
