package db

import "time"

// MonthOf names the UTC month that t lies in, such as "2026-11": in SQL, in
// Redis and on bills.
func MonthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// MonthStart returns when the UTC month of t began.
func MonthStart(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// MonthEnd returns when the UTC month of t ends, which is when the next one
// begins.
func MonthEnd(t time.Time) time.Time { return MonthStart(t).AddDate(0, 1, 0) }
