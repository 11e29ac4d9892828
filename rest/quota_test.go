package rest_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db/dbtest"
)

// Answers of every kind carry the six headers, and count; the request after the
// last that fits is a 429 with the contract's body, and takes nothing.
func TestQuota(t *testing.T) {
	dbtest.EachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m)
		r.meter(t, 4)
		soon := time.Now().Add(5 * time.Second) // the four requests lie in one minute
		if access.Minute.End(soon) != access.Minute.End(time.Now()) {
			soon = soon.Add(time.Minute)
			for time.Now().Before(access.Minute.Start(soon)) {
				time.Sleep(10 * time.Millisecond)
			}
		}
		for i, c := range []struct {
			path   string
			status int
		}{
			{cachedPath, 200}, {"/v1/flights/AA/9/" + past, 404}, {"/v1/flights/AA/x/" + today, 400}, {"/v1/subscriptions", 200},
		} {
			got := r.do(t, request{path: c.path})
			got.want(t, c.status, "")
			r.wantHeaders(t, got, 4, 3-i)
		}
		for range 2 {
			got := r.do(t, request{path: cachedPath})
			got.want(t, 429, "quota_exceeded")
			r.wantHeaders(t, got, 4, 0)
			var body struct {
				Error, Message, Window string
				RetryAfterSeconds      int
			}
			got.decode(t, &body)
			// All windows are full; the month is the last to end.
			left := int(time.Until(access.Month.End(time.Now())).Seconds())
			if body.Error != "TooManyRequests" || body.Window != "month" || body.RetryAfterSeconds < left-60 || body.RetryAfterSeconds > left+60 ||
				got.header.Get("Retry-After") != strconv.Itoa(body.RetryAfterSeconds) || !strings.Contains(body.Message, "month") || !strings.Contains(body.Message, "4 of 4") {
				t.Errorf("%s, Retry-After %s", got.body, got.header.Get("Retry-After"))
			}
		}
	})
}

func (r *rig) wantHeaders(t *testing.T, got reply, limit, remaining int) {
	t.Helper()
	for window, w := range map[string]access.Window{"Minute": access.Minute, "Day": access.Day} {
		reset, err := strconv.ParseInt(got.header.Get("X-RateLimit-Reset-"+window), 10, 64)
		end := w.End(time.Now()).Unix()
		if err != nil || reset != end || got.header.Get("X-RateLimit-Limit-"+window) != strconv.Itoa(limit) ||
			got.header.Get("X-RateLimit-Remaining-"+window) != strconv.Itoa(remaining) {
			t.Errorf("want %d of %d, reset %d: %v", remaining, limit, end, got.header)
		}
	}
	if h := rateHeaders(got.header); len(h) != 6 {
		t.Errorf("the headers are %v", h)
	}
}

func rateHeaders(h http.Header) (names []string) {
	for name := range h {
		if strings.HasPrefix(name, "X-Ratelimit-") {
			names = append(names, name)
		}
	}
	return names
}

// What counts against no quota says nothing of one: windows without a limit,
// keys that are none, and paths that are not there.
func TestNoQuotaNoHeaders(t *testing.T) {
	r := newRig(t, sqlite(t))
	for _, c := range []struct {
		request
		status int
	}{
		{request{path: cachedPath}, 200}, // on the plan unlimited
		{request{path: cachedPath, key: "-"}, 401},
		{request{path: cachedPath, key: madeUpKey}, 401},
		{request{path: "/v1/nothing"}, 404},
		{request{method: "PUT", path: "/v1/subscriptions"}, 405},
	} {
		got := r.do(t, c.request)
		got.want(t, c.status, "")
		if h := rateHeaders(got.header); len(h) > 0 {
			t.Errorf("%s: %v", c.path, h)
		}
	}
}
