package jobs_test

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
	"github.com/flightwire/flightwire/flight/webhook"
)

// torment is a receiver, and what has to come of an event that is sent to it.
type torment struct {
	*demon
	https    bool
	tries    int      // attempts in all
	code     int      // of each attempt's answer; 0: none
	codes    []int    // of each attempt, where they differ
	error    string   // part of the sentence in the log; "": delivered
	errors   []string // of each attempt, where they differ
	latency  time.Duration
	body     string // what is kept of an answer; "x*": only x, as much as is kept
	asked    []time.Duration
	requests int // that come in; -1: as many as there are attempts
	takes    bool
}

// torments are the receivers from hell. Those that can be retried never get
// better, so that every one shows the whole schedule.
func torments(t *testing.T) []torment {
	const all = flight.MaxAttempts
	chunk := strings.Repeat("b", 1<<16)
	date := func(c net.Conn, n int) {
		status(429, "Retry-After: "+time.Now().UTC().Add(90*time.Second).Format("Mon, 02 Jan 2006 15:04:05")+" GMT\r\n")(c, n)
	}
	return []torment{
		{demon: &demon{name: "well", serve: status(204)}, tries: 1, code: 204, takes: true, requests: -1},
		{demon: &demon{name: "hangs", serve: silent}, tries: all, error: "did not answer within 10s", latency: 10 * time.Second, requests: -1},
		{demon: &demon{name: "deaf", deaf: true}, tries: all, error: "did not take the connection in time", latency: 5 * time.Second},
		{demon: &demon{name: "late", serve: late(11*time.Second, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")}, tries: all, error: "did not answer within 10s", latency: 10 * time.Second, requests: -1},
		{demon: &demon{name: "justintime", serve: late(9900*time.Millisecond, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")}, tries: 1, code: 200, latency: 9900 * time.Millisecond, takes: true, requests: -1},
		{demon: &demon{name: "drips", serve: drips("", "HTTP/1.1 200 OK\r\n\r\n")}, tries: all, error: "began an answer and did not end its headers within 10s", latency: 10 * time.Second, requests: -1},
		{demon: &demon{name: "dripsbody", serve: drips("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", strings.Repeat("b", 100))}, tries: 1, code: 200, body: "b*", takes: true, requests: -1},
		{demon: &demon{name: "closes", serve: says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")}, tries: all, error: "closed the connection before it had answered", requests: -1},
		{demon: &demon{name: "closesatonce", serve: says("")}, tries: all, error: "closed the connection before it had answered", requests: -1},
		{demon: &demon{name: "closesinbody", serve: says("HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\noops")}, tries: all, code: 500, error: "answered 500", body: "oops", requests: -1},
		{demon: &demon{name: "resets", serve: says(""), broken: syscall.ECONNRESET}, tries: all, error: "closed the connection before it had answered", requests: -1},
		{demon: &demon{name: "gigabyte", serve: floods("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", chunk, 1<<14)}, tries: 1, code: 200, body: "b*", takes: true, requests: -1},
		{demon: &demon{name: "endlessheader", serve: floods("HTTP/1.1 200 OK\r\nX-Big: ", chunk, 1<<14)}, tries: all, error: "sent an answer that is not valid HTTP", requests: -1},
		{demon: &demon{name: "garbage", serve: says("\x00\xff\x16\x03garbage\r\n\r\n")}, tries: all, error: "sent an answer that is not valid HTTP", requests: -1},
		{demon: &demon{name: "hints", serve: says("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")}, tries: 1, code: 200, takes: true, requests: -1},
		{demon: &demon{name: "endlesshints", serve: floods("", "HTTP/1.1 103 Early Hints\r\n\r\n", 1<<14)}, tries: all, error: "sent an answer that is not valid HTTP", requests: -1},
		{demon: &demon{name: "switches", serve: says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")}, tries: 1, code: 101, error: "answered 101", requests: -1},
		{demon: &demon{name: "redirects", serve: status(302, "Location: http://169.254.169.254/latest/meta-data\r\n")}, tries: 1, code: 302, error: "answered 302, and redirects are not followed", requests: -1},
		{demon: &demon{name: "moves", serve: status(308, "Location: http://127.0.0.1/\r\n")}, tries: 1, code: 308, error: "answered 308, and redirects are not followed", requests: -1},
		{demon: &demon{name: "gone", serve: status(410)}, tries: 1, code: 410, error: "answered 410 Gone", requests: -1},
		{demon: &demon{name: "timesout", serve: status(408)}, tries: all, code: 408, error: "answered 408", requests: -1},
		{demon: &demon{name: "slow", serve: status(429)}, tries: all, code: 429, error: "answered 429", requests: -1},
		{demon: &demon{name: "asks", serve: inTurn(status(429, "Retry-After: 60\r\n"), status(429, "Retry-After: 1\r\n"), date, status(429, "Retry-After: 86400\r\n"), status(503, "Retry-After: 120\r\n"), status(200))},
			tries: 6, codes: []int{429, 429, 429, 429, 503, 200}, errors: []string{"answered 429", "answered 429", "answered 429", "answered 429", "answered 503", ""},
			asked: []time.Duration{time.Minute, 0, 89 * time.Second, time.Hour, 2 * time.Minute}, takes: true, requests: -1},
		{demon: &demon{name: "fails", serve: status(500, "Retry-After: 3000\r\n")}, tries: all, code: 500, error: "answered 500", requests: -1},
		{demon: &demon{name: "tls", tls: selfSigned(t)}, https: true, tries: all, error: "certificate of tls.example was not accepted"},
		{demon: &demon{name: "notls", plain: "HTTP/1.1 400 Bad Request\r\n\r\n"}, https: true, tries: all, error: "did not speak TLS"},
		{demon: &demon{name: "rebinds", serve: status(500), address: func(n int) string { return []string{publicAddress, "10.0.0.1"}[min(n, 2)-1] }},
			tries: all, codes: []int{500, 0, 0, 0, 0, 0, 0, 0, 0}, errors: append([]string{"answered 500"}, slices.Repeat([]string{"has an address that is not public: nothing was sent"}, all-1)...), requests: 1},
		{demon: &demon{name: "private", address: func(int) string { return "169.254.169.254" }}, tries: all, error: "has an address that is not public: nothing was sent"},
	}
}

// Every receiver from hell gets its events by the rules, and the log says what
// it did, in virtual time and with the settings of production.
func TestReceiversFromHell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(began)) // a bubble begins in the year 2000
		all := torments(t)
		h := &hell{t: t, hosts: map[string]*demon{}}
		for _, x := range all {
			h.hosts[x.name] = x.demon
		}
		m := dbtest.Embedded(t)
		r := &rig{Mode: m, source: newScript(), steps: make(chan struct{}, 1), sql: openSQL(t, m)}
		r.start(t, func(s *setup) {
			s.RetryBase = 0 // what it is in production
			s.WorkerConfig.SetRhythm(10 * time.Second)
			s.Dial = h.dial
		})
		account := r.account(t)
		subs := make([]*flight.Subscription, len(all))
		for i, x := range all {
			scheme := map[bool]string{false: "http", true: "https"}[x.https]
			subs[i] = r.subscribe(t, account, scheme+"://"+x.name+".example/hook?token=secret")
		}
		for end := time.Now().Add(2 * time.Hour); !r.settled(t); time.Sleep(10 * time.Second) { // virtual
			if time.Now().After(end) {
				t.Fatal("not everything is settled after two hours")
			}
		}
		r.stop()
		h.conns.Wait()
		for i, x := range all {
			x.check(t, r, subs[i])
		}
	})
}

// hellish is a line of the attempt log.
type hellish struct {
	Event   string  `db:"event_id"`
	Number  int     `db:"attempt"`
	Status  string  `db:"status"`
	Code    int     `db:"status_code"`
	Error   string  `db:"error"`
	Latency int64   `db:"latency_ms"`
	At      db.Time `db:"attempted_at"`
	Next    db.Time `db:"next_attempt_at"`
	Body    string  `db:"response_body"`
}

// over is when the attempt was over.
func (a hellish) over() time.Time {
	return a.At.Std().Add(time.Duration(a.Latency) * time.Millisecond)
}

func (x *torment) check(t *testing.T, r *rig, s *flight.Subscription) {
	t.Helper()
	var log []hellish
	if err := r.sql.SelectContext(t.Context(), &log, `SELECT event_id, attempt, status, status_code, error, latency_ms, attempted_at, next_attempt_at, response_body
		FROM deliveries WHERE subscription_id = $1 ORDER BY attempt`, s.ID); err != nil {
		t.Fatal(err)
	}
	if len(log) != x.tries {
		t.Errorf("%s: %d attempts, not %d", x.name, len(log), x.tries)
		return
	}
	for i, a := range log {
		x.checkLine(t, i, a)
		if i+1 < len(log) {
			x.checkNext(t, i, a, log[i+1])
		}
	}
	x.checkRequests(t, s, log)
	got, err := r.DB.Subscription(t.Context(), s.Account, s.ID)
	delivered := int64(0)
	if x.takes {
		delivered = 1
	}
	if err != nil || int64(got.DeliveredCount) != delivered || int64(got.FailedCount) != 1-delivered || got.LastDeliveryAt.Known() != x.takes {
		t.Errorf("%s: the subscription says %d delivered, %d failed, the last at %v (%v)", x.name, got.DeliveredCount, got.FailedCount, got.LastDeliveryAt, err)
	}
}

// checkLine holds the ith attempt against what the receiver did.
func (x *torment) checkLine(t *testing.T, i int, a hellish) {
	t.Helper()
	last := i == x.tries-1
	code, text, end := x.code, x.error, "retrying"
	if x.codes != nil {
		code, text = x.codes[i], x.errors[i]
	}
	if last {
		end = map[bool]string{true: "succeeded", false: "failed"}[x.takes]
	}
	if a.Number != i+1 || a.Status != end || a.Code != code || a.Next.Std().IsZero() != last {
		t.Errorf("%s: line %d of the log is %+v", x.name, i+1, a)
	}
	if (text == "") != (a.Error == "") || !strings.Contains(a.Error, text) || strings.Contains(a.Error, "secret") {
		t.Errorf("%s: attempt %d: the log says %q", x.name, i+1, a.Error)
	}
	if got := time.Duration(a.Latency) * time.Millisecond; got < x.latency || got > x.latency+10*time.Millisecond {
		t.Errorf("%s: attempt %d took %v, not %v", x.name, i+1, got, x.latency)
	}
	if of, some := strings.CutSuffix(x.body, "*"); some {
		if a.Body == "" || len(a.Body) > webhook.MaxResponseBody || strings.Trim(a.Body, of) != "" {
			t.Errorf("%s: %d bytes of the answer are kept: %q", x.name, len(a.Body), a.Body)
		}
	} else if a.Body != x.body {
		t.Errorf("%s: of the answer %q is kept", x.name, a.Body)
	}
}

// checkNext holds the time between two attempts against the rule: 4 s after
// the first, doubled each time, and up to a tenth more, or what was asked for.
func (x *torment) checkNext(t *testing.T, i int, a, next hellish) {
	t.Helper()
	least := 4 * time.Second << i
	most := least + least/10
	if i < len(x.asked) && x.asked[i] > least {
		least, most = x.asked[i], max(most, x.asked[i]+time.Second) // a date has whole seconds
	}
	// An answer is read to its end before the wait begins, and recorded soon.
	const soon = 50 * time.Millisecond
	if wait := a.Next.Std().Sub(a.over()); wait < least || wait > most+soon {
		t.Errorf("%s: retry %d was planned in %v, not in %v to %v", x.name, i+1, wait, least, most)
	}
	if late := next.At.Std().Sub(a.Next.Std()); late < 0 || late > 3*time.Second {
		t.Errorf("%s: attempt %d was made %v after it was due", x.name, i+2, late)
	}
}

// checkRequests holds what came in against the log: the same id and bytes each
// time, with a fresh timestamp and signature.
func (x *torment) checkRequests(t *testing.T, s *flight.Subscription, log []hellish) {
	t.Helper()
	want := x.requests
	if want < 0 {
		want = x.tries
	}
	if len(x.demon.requests) != want {
		t.Errorf("%s: %d requests came in, not %d", x.name, len(x.demon.requests), want)
		return
	}
	for i, got := range x.demon.requests {
		if id := got.header.Get("x-service-event-id"); id != log[0].Event || log[i].Event != id || !bytes.Equal(got.body, x.demon.requests[0].body) {
			t.Errorf("%s: request %d has another id or body", x.name, i+1)
		}
		if n := got.header.Get("x-service-delivery-attempt"); n != fmt.Sprint(i+1) {
			t.Errorf("%s: request %d says that it is attempt %s", x.name, i+1, n)
		}
		if err := webhook.Verify(s.Secret, got.header.Get("x-service-signature"), got.body, got.at); err != nil {
			t.Errorf("%s: request %d: %v", x.name, i+1, err)
		}
		stamp, err := strconv.ParseInt(got.header.Get("x-service-timestamp"), 10, 64)
		if age := got.at.Sub(time.Unix(stamp, 0)); err != nil || age < 0 || age > 2*time.Second {
			t.Errorf("%s: the timestamp of request %d is %v old (%v)", x.name, i+1, age, err)
		}
	}
}
