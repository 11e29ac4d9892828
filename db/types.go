package db

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// Time is a moment in a column; zero is NULL. It scans what both drivers hand
// out: a time, or, for an expression on SQLite, microseconds.
type Time struct{ t time.Time }

// At returns t as a column value, in UTC and to the microsecond.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Microsecond)}
}

// world returns a world time as a column value.
func world(t flight.Time) Time { return At(t.Std()) }

// Std returns the moment in UTC; NULL is the zero time.
func (t Time) Std() time.Time { return t.t }

// Flight returns the moment in the domain's type; NULL is unknown.
func (t Time) Flight() flight.Time { return flight.TimeOf(t.t) }

// Scan implements sql.Scanner.
func (t *Time) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		t.t = time.Time{}
	case time.Time:
		t.t = v.UTC()
	case int64:
		t.t = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("a time column holds a %T", v)
	}
	return nil
}

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) {
	if t.t.IsZero() {
		return nil, nil
	}
	return t.t, nil
}

// jsonText is v as a TEXT column or a parameter for rows and ids.
func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // only our own structs come here
		panic(fmt.Sprintf("db: encode: %v", err))
	}
	return string(b)
}

// idList is ids as the parameter of [dialect.ids]; none is an empty list.
func idList(ids []string) string {
	if len(ids) == 0 {
		return "[]" // a nil slice would be null, which is no array
	}
	return jsonText(ids)
}
