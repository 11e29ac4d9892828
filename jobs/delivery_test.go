package jobs_test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight"
)

// The next event waits for the end of the first attempt at the one before, and
// only for that: nobody else waits, and no retry is waited for.
func TestOrder(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Hour)
		answer := make(chan int)
		slow := newHandler(t, func(w http.ResponseWriter, _ received) { w.WriteHeader(<-answer) })
		defer close(answer)
		prompt := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		account := r.account(t)
		s := r.subscribe(t, account, slow.URL)
		slow.expect(t, "subscription.created") // its attempt is under way
		r.subscribe(t, account, prompt.URL)
		for _, gate := range []string{"C1", "C2", "C3"} {
			r.change(t, gate)
		}
		prompt.expect(t, "subscription.created", "C1", "C2", "C3")
		if n := len(slow.got); n > 0 {
			t.Errorf("%d more events were sent while the first attempt was under way", n)
		}
		answer <- 503 // the first is retried; the others do not wait for that
		slow.expect(t, "C1")
		if n := len(slow.got); n > 0 {
			t.Errorf("%d more events were sent while the second was under way", n)
		}
		answer <- 204
		slow.expect(t, "C2")
		answer <- 400
		rest := []string{slow.next(t).what()}
		answer <- 204
		rest = append(rest, slow.next(t).what())
		answer <- 204
		slices.Sort(rest)
		if want := []string{"C3", "subscription.created"}; !slices.Equal(rest, want) {
			t.Errorf("then came %v, not %v", rest, want)
		}
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		want := "[subscription.created 1 retrying subscription.created 2 succeeded flight.updated 1 succeeded flight.updated 1 failed flight.updated 1 succeeded]"
		if got := fmt.Sprint(r.log(t, s.ID)); got != want {
			t.Errorf("the log says\n%s, not\n%s", got, want)
		}
	})
}

// skew is how far the database's clock is ahead of the test's.
func skew(m dbtest.Mode) time.Duration { return time.Until(m.DB.Now()) }

// A retry is the same event to the byte, is never early, and counts up.
func TestRetry(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		const base = 200 * time.Millisecond
		r := rigWith(t, m, func(s *setup) { s.RetryBase = base })
		recv := newReceiver(t, func(n int) int { return []int{503, 500, 408, 200}[n-1] })
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		var got []received
		for range 4 {
			got = append(got, recv.next(t))
		}
		r.until(t, "it is delivered", func() bool { return r.settled(t) })
		log := r.log(t, s.ID)
		if want := "[subscription.created 1 retrying subscription.created 2 retrying subscription.created 3 retrying subscription.created 4 succeeded]"; fmt.Sprint(log) != want {
			t.Fatalf("the log says %v", log)
		}
		skew := skew(m)
		for i, g := range got {
			if string(g.Body) != string(got[0].Body) || g.Event.ID != log[0].Event {
				t.Errorf("attempt %d has another body or id", i+1)
			}
			if g.attempt() != fmt.Sprint(i+1) {
				t.Errorf("attempt %d says %s", i+1, g.attempt())
			}
			if g.Header.Get("x-service-timestamp") == "" || i > 0 && g.Header.Get("x-service-signature") == got[i-1].Header.Get("x-service-signature") && g.Header.Get("x-service-timestamp") != got[i-1].Header.Get("x-service-timestamp") {
				t.Errorf("attempt %d is not signed afresh", i+1)
			}
			if i == 0 {
				continue
			}
			before := log[i-1]
			if early := before.Next.Std().Sub(g.At.Add(skew)); early > 2*time.Millisecond {
				t.Errorf("attempt %d came %v early", i+1, early)
			}
			if delay, least := before.Next.Std().Sub(before.At.Std()), base<<(i-1); delay < least {
				t.Errorf("retry %d was planned after %v, not %v", i, delay, least)
			}
		}
		if n := one[int](t, r, `SELECT delivered_count FROM subscription_state`); n != 1 {
			t.Errorf("%d delivered", n)
		}
	})
}

// A receiver's Retry-After is honoured on 429 and 503 where it asks for more.
func TestRetryAfter(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.RetryBase = 50 * time.Millisecond })
		recv := newHandler(t, func(w http.ResponseWriter, rec received) {
			if rec.attempt() != "1" {
				w.WriteHeader(204)
				return
			}
			w.Header().Set("Retry-After", "2")
			var status int
			_, _ = fmt.Sscanf(rec.Path, "/%d", &status)
			w.WriteHeader(status)
		})
		r.source.say(leg())
		account := r.account(t)
		least := map[int]time.Duration{429: 2 * time.Second, 503: 2 * time.Second, 408: 50 * time.Millisecond, 500: 50 * time.Millisecond}
		subs := map[int]string{}
		for status := range least {
			subs[status] = r.subscribe(t, account, fmt.Sprintf("%s/%d", recv.URL, status)).ID
		}
		second := map[string]time.Time{}
		for range 2 * len(least) {
			if got := recv.next(t); got.attempt() == "2" {
				second[got.Path] = got.At
			}
		}
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		for status, id := range subs {
			log := r.log(t, id)
			if len(log) != 2 || log[0].Status != "retrying" || log[0].Code != status || log[1].Status != "succeeded" {
				t.Errorf("%d: the log says %v", status, log)
				continue
			}
			delay := log[0].Next.Std().Sub(log[0].At.Std())
			if delay < least[status] || delay > least[status]+time.Second {
				t.Errorf("%d: retried after %v", status, delay)
			}
			if took := second[fmt.Sprintf("/%d", status)].Add(skew(m)).Sub(log[0].At.Std()); took < least[status]-2*time.Millisecond {
				t.Errorf("%d: the retry came after %v", status, took)
			}
		}
	})
}

// Any other answer is a rejection: the event has failed, and its subscription
// hears of the next one.
func TestRejected(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.RetryBase = time.Millisecond })
		elsewhere := newReceiver(t, func(int) int { return 204 })
		answers := []int{400, 302, 204}
		recv := newHandler(t, func(w http.ResponseWriter, rec received) {
			status := answers[0]
			answers = answers[1:]
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(status)
		})
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		r.change(t, "C1")
		recv.expect(t, "C1")
		r.change(t, "C2")
		recv.expect(t, "C2")
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		if got, want := fmt.Sprint(r.log(t, s.ID)), "[subscription.created 1 failed flight.updated 1 failed flight.updated 1 succeeded]"; got != want {
			t.Errorf("the log says %s", got)
		}
		got, err := m.DB.Subscription(t.Context(), s.Account, s.ID)
		if err != nil || got.FailedCount != 2 || got.DeliveredCount != 1 || got.Status != flight.SubscriptionActive {
			t.Errorf("%+v %v", got, err)
		}
		if n := one[int](t, r, `SELECT failure_streak FROM subscription_state`); n != 0 {
			t.Errorf("a success leaves a streak of %d", n)
		}
		if len(elsewhere.got) > 0 {
			t.Error("a redirect was followed")
		}
	})
}

// Where nobody listens it is tried nine times, and then the event has failed.
func TestRetriesAreUsedUp(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.RetryBase = time.Millisecond })
		closed, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = closed.Close()
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), "http://"+closed.Addr().String())
		r.until(t, "the event has failed", func() bool { return r.settled(t) })
		log := r.log(t, s.ID)
		if len(log) != flight.MaxAttempts {
			t.Fatalf("%d attempts: %v", len(log), log)
		}
		for i, a := range log {
			last := i == len(log)-1
			if a.Number != i+1 || a.Code != 0 || a.Error == "" || (a.Status == "failed") != last || a.Next.Std().IsZero() != last {
				t.Errorf("attempt %d: %+v", i+1, a)
			}
		}
		if n := one[int](t, r, `SELECT failed_count FROM subscription_state`); n != 1 {
			t.Errorf("%d failed deliveries", n)
		}
	})
}

// Receivers that do not answer hold their own places and nobody's deliveries.
func TestSlowReceiverDelaysNobody(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := rigWith(t, m, func(s *setup) { s.SendTimeout = 5 * time.Minute }) // longer than the test
		release := make(chan struct{})
		slow := newHandler(t, func(http.ResponseWriter, received) { <-release })
		defer close(release)
		prompt := newReceiver(t, func(int) int { return 204 })
		r.source.say(leg())
		account := r.account(t)
		const n = 30
		for i := range n { // endpoints of their own: one alone would not get so many places
			r.subscribe(t, account, fmt.Sprintf("%s/%d", slow.URL, i))
		}
		for range n {
			slow.next(t)
		}
		s := r.subscribe(t, account, prompt.URL)
		prompt.expect(t, "subscription.created")
		for _, gate := range []string{"C1", "C2", "C3"} {
			r.change(t, gate)
			prompt.expect(t, gate)
		}
		r.until(t, "its results are recorded", func() bool { return len(r.log(t, s.ID)) == 4 })
		if n := one[int](t, r, `SELECT count(*) FROM deliveries WHERE subscription_id <> $1`, s.ID); n > 0 {
			t.Errorf("%d of the slow attempts are over already: this test shows nothing", n)
		}
	})
}

// Twenty failed deliveries in a row suspend, and polling stops; a resume polls
// at once and tells the net change.
func TestSuspensionAndResume(t *testing.T) {
	eachMode(t, func(t *testing.T, m dbtest.Mode) {
		r := newRig(t, m, time.Second)
		healed := make(chan struct{})
		recv := newHandler(t, func(w http.ResponseWriter, rec received) {
			select {
			case <-healed:
				w.WriteHeader(204)
			default:
				if rec.Event.Type != "subscription.suspended" {
					w.WriteHeader(410)
				}
			}
		})
		r.source.say(leg())
		s := r.subscribe(t, r.account(t), recv.URL)
		recv.expect(t, "subscription.created")
		for i := range flight.FailuresToSuspend - 1 {
			r.change(t, fmt.Sprintf("C%d", i))
			recv.expect(t, fmt.Sprintf("C%d", i))
		}
		recv.expect(t, "subscription.suspended")
		r.until(t, "everything is settled", func() bool { return r.settled(t) })
		got, err := m.DB.Subscription(t.Context(), s.Account, s.ID)
		if err != nil || got.Status != flight.SubscriptionSuspended || got.StatusReason == "" || got.FailedCount != flight.FailuresToSuspend || got.DeliveredCount != 1 {
			t.Errorf("%+v %v", got, err)
		}

		// Nobody asks any more, while another flight is polled.
		fence := flight.Key{Carrier: "BB", Number: "7", Date: time.Now().Format(time.DateOnly)}
		r.subscribeTo(t, s.Account, newReceiver(t, func(int) int { return 204 }).URL, fence)
		r.until(t, "the poll that was planned is over", func() bool {
			return one[int](t, r, `SELECT count(*) FROM flights WHERE resolved AND (next_poll_at IS NOT NULL OR poll_token <> '')`) == 0
		})
		r.source.on(nil)
		r.source.say(atGate("D1"))
		for r.source.count(fence) < 4 {
			wait(t, r.source.asked, "a poll")
		}
		if n := r.source.count(key); n > 0 {
			t.Errorf("a suspended subscription's flight was polled %d times", n)
		}
		if n := len(recv.got); n > 0 {
			t.Errorf("%d events more", n)
		}

		close(healed)
		if _, err := m.DB.ResumeSubscription(t.Context(), s.Account, s.ID, r.intake.World()); err != nil {
			t.Fatal(err)
		}
		net := recv.expect(t, "D1")[0]
		if len(net.Event.Changes) != 1 || net.Event.Changes[0].Message != "Departure gate changed from C18 to D1" {
			t.Errorf("the net change is %s", net.Body)
		}
		r.source.say(atGate("D2"))
		recv.expect(t, "D2")
	})
}
