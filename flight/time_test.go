package flight_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight"
)

func TestTimeText(t *testing.T) {
	for _, c := range []struct {
		t    flight.Time
		text string
	}{
		{utc("2026-03-10 22:00"), "2026-03-10T22:00:00.000Z"},
		{utc("2026-03-10 22:00:05.25"), "2026-03-10T22:00:05.250Z"},
		{flight.TimeOf(time.Date(2026, 3, 10, 18, 0, 0, 1_999_999, time.FixedZone("EDT", -4*3600))), "2026-03-10T22:00:00.001Z"},
		{utc("1969-12-31 23:59:59.999"), "1969-12-31T23:59:59.999Z"},
		{0, ""},
	} {
		if got := c.t.String(); got != c.text {
			t.Errorf("%d: %q, want %q", c.t, got, c.text)
		}
		wire := `"` + c.text + `"`
		if c.text == "" {
			wire = "null"
		}
		if got := encoded(t, c.t); got != wire {
			t.Errorf("JSON of %d: %s, want %s", c.t, got, wire)
		}
		var gql strings.Builder
		c.t.MarshalGQL(&gql)
		if gql.String() != wire {
			t.Errorf("GraphQL of %d: %s, want %s", c.t, gql.String(), wire)
		}
		var back flight.Time = 7
		if err := json.Unmarshal([]byte(wire), &back); err != nil || back != c.t {
			t.Errorf("read %s: %d, %v", wire, back, err)
		}
	}
	if flight.TimeOf(time.Time{}).Known() || !flight.Time(0).Std().IsZero() {
		t.Error("the zero time is unknown, both ways")
	}
}

func TestTimeReads(t *testing.T) {
	for text, want := range map[string]flight.Time{
		"2026-03-10T22:00:00Z":           utc("2026-03-10 22:00"),
		"2026-03-10T18:00:00-04:00":      utc("2026-03-10 22:00"),
		"2026-03-10T22:00:00.123456789Z": utc("2026-03-10 22:00:00.123"),
	} {
		var fromJSON, fromGQL flight.Time
		if err := json.Unmarshal([]byte(`"`+text+`"`), &fromJSON); err != nil || fromJSON != want {
			t.Errorf("JSON %s: %v, %v", text, fromJSON, err)
		}
		if err := fromGQL.UnmarshalGQL(text); err != nil || fromGQL != want {
			t.Errorf("GraphQL %s: %v, %v", text, fromGQL, err)
		}
	}
	for _, text := range []string{`"2026-03-10"`, `"2026-03-10T22:00:00"`, `"2026-02-30T22:00:00Z"`, `""`, `"soon"`,
		`"9999-12-31T23:59:59-00:01"`, `"0000-01-01T00:00:00+00:01"`, `1773180000`, `true`, `{}`} {
		var got flight.Time
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("JSON %s is read as %v", text, got)
		}
	}
	for _, v := range []any{"2026-03-10", "", 1773180000, nil, true} {
		var got flight.Time
		if err := got.UnmarshalGQL(v); err == nil {
			t.Errorf("GraphQL %v is read as %v", v, got)
		}
	}
}

func TestMinutes(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     int
	}{
		{"2026-03-10 22:00", "2026-03-10 22:05", 5},
		{"2026-03-10 22:00:59", "2026-03-10 22:01:00", 1}, // seconds are cut off
		{"2026-03-10 22:00:00", "2026-03-10 22:00:59", 0},
		{"2026-03-10 22:05", "2026-03-10 22:00:30", -5},
		{"1969-12-31 23:59:30", "1970-01-01 00:00:30", 1},
		{"1969-12-31 23:58:00", "1969-12-31 23:59:59", 1},
	} {
		if got := utc(c.to).Minutes(utc(c.from)); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}
