package jobs

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flightwire/flightwire/db"
)

var boardNow = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// event is an event of an account to a URL.
func event(id int, account, url string, lane db.Lane) db.Due {
	return db.Due{EventID: fmt.Sprint("evt_", id), Account: account, URL: url, Lane: lane}
}

// offerAll offers n events whose URLs url makes, numbered from the first on.
func offerAll(t *testing.T, b *board, first, n int, lane db.Lane, url func(i int) string) {
	t.Helper()
	for i := first; i < first+n; i++ {
		if !b.offer(event(i, "acc", url(i), lane), boardNow) {
			t.Fatalf("there is no room for event %d", i)
		}
	}
}

func TestBoardKeepsLimits(t *testing.T) {
	one := func(int) string { return "https://a.example/hook?x=1" }
	each := func(i int) string { return fmt.Sprintf("https://a.example/hook/%d", i) }
	hosts := func(i int) string { return fmt.Sprintf("https://h%d.example/hook", i) }
	for _, c := range []struct {
		name   string
		limits Limits
		lane   db.Lane
		url    func(int) string
		want   int
	}{
		{"an endpoint that is not known", Limits{}, db.Prompt, one, firstWindow},
		{"an endpoint with a smaller limit", Limits{Endpoint: 3}, db.Prompt, one, 3},
		{"a host", Limits{}, db.Prompt, each, 96},
		{"a host's slow endpoints", Limits{}, db.Slow, each, 32},
		{"the prompt lane", Limits{Account: 1000}, db.Prompt, hosts, 256},
		{"the slow lane", Limits{Account: 1000}, db.Slow, hosts, 128},
		{"an account", Limits{}, db.Prompt, hosts, 192},
		{"an account's slow endpoints", Limits{}, db.Slow, hosts, 96},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBoard(c.limits)
			offerAll(t, b, 0, 500, c.lane, c.url)
			seats := b.take(c.lane, 1000)
			if len(seats) != c.want {
				t.Fatalf("%d have a place, want %d", len(seats), c.want)
			}
			if more := b.take(c.lane, 1000); len(more) > 0 {
				t.Errorf("%d more have one", len(more))
			}
			b.leave(seats[0], well, boardNow)
			if more := b.take(c.lane, 1000); len(more) == 0 {
				t.Error("a place that became free is not taken")
			}
		})
	}
}

// An endpoint's window grows with answers, closes with a failure, and opens
// again with the next answer.
func TestBoardWindow(t *testing.T) {
	b := newBoard(Limits{})
	url := func(int) string { return "https://a.example/hook" }
	offerAll(t, b, 0, 400, db.Prompt, url)
	seats := b.take(db.Prompt, 100)
	for round := 1; round <= 4; round++ {
		for _, s := range seats {
			b.leave(s, well, boardNow)
		}
		want := min(firstWindow<<round, b.limits.Endpoint)
		if seats = b.take(db.Prompt, 100); len(seats) != want {
			t.Fatalf("round %d: %d under way, want %d", round, len(seats), want)
		}
	}
	for _, s := range seats {
		b.leave(s, ill, boardNow)
	}
	if n := len(b.take(db.Prompt, 100)); n > 0 {
		t.Errorf("%d of a slow endpoint take places of the prompt", n)
	}
	seats = b.take(db.Slow, 100)
	if len(seats) != slowWindow {
		t.Fatalf("%d of a slow endpoint are under way", len(seats))
	}
	b.leave(seats[0], well, boardNow)
	if b.offer(event(1000, "acc", url(0), db.Prompt), boardNow); b.lanes[db.Prompt].waiting != 1 {
		t.Error("an endpoint that answers again is still slow")
	}
}

// Hanging endpoints leave the prompt lane's places within the second that they
// are waited for, on the host of the others and elsewhere.
func TestBoardHangingTakeNoPlaces(t *testing.T) {
	for name, host := range map[string]string{"the same host": "ok.example", "another host": "hangs.example"} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(Limits{})
			hanging := func(i int) string { return fmt.Sprintf("https://%s/hang/%d", host, i%20) }
			offerAll(t, b, 0, 1000, db.Prompt, hanging)
			held := b.take(db.Prompt, 1000)
			for _, s := range held {
				b.overdue(s)
			}
			if b.lanes[db.Prompt].underWay != 0 || b.lanes[db.Slow].underWay != len(held) {
				t.Fatalf("%d under way in the prompt lane, %d in the slow one", b.lanes[db.Prompt].underWay, b.lanes[db.Slow].underWay)
			}
			offerAll(t, b, 2000, 96, db.Prompt, func(i int) string { return fmt.Sprintf("https://ok.example/%d", i) })
			got := b.take(db.Prompt, 1000)
			if len(got) != 96 {
				t.Errorf("%d of 96 prompt ones have a place", len(got))
			}
			for _, s := range got {
				if s.EventID < "evt_2000" {
					t.Errorf("%s to a hanging endpoint has a prompt place", s.EventID)
				}
			}
			for _, s := range append(held, got...) {
				b.leave(s, ill, boardNow)
			}
		})
	}
}

// Endpoints take turns: a long line at one delays another by no more than a place.
func TestBoardTakesTurns(t *testing.T) {
	b := newBoard(Limits{})
	offerAll(t, b, 0, 500, db.Prompt, func(i int) string { return fmt.Sprintf("https://a.example/%d", i%5) })
	offerAll(t, b, 600, 1, db.Prompt, func(int) string { return "https://b.example/" })
	for i, s := range b.take(db.Prompt, 10) {
		if s.EventID == "evt_600" {
			if i > 5 {
				t.Errorf("its turn is the %dth", i+1)
			}
			return
		}
	}
	t.Error("ten others came first")
}

// What a board holds is bounded, for one host and in all, and so is what it
// remembers.
func TestBoardIsBounded(t *testing.T) {
	b := newBoard(Limits{})
	refused := 0
	for i := range 3 * boardRoom {
		url := "https://full.example/"
		if i%2 == 0 {
			url = fmt.Sprintf("https://h%d.example/", i)
		}
		if !b.offer(event(i, "acc", url, db.Slow), boardNow) {
			refused++
		}
	}
	if n := b.lanes[db.Slow].waiting; n != boardRoom || len(b.held) != n || refused != 2*boardRoom {
		t.Errorf("%d wait, %d are held, %d were refused", n, len(b.held), refused)
	}
	if n := b.hosts["full.example"].waiting; n != hostRoom {
		t.Errorf("%d wait for one host", n)
	}
	for i := range 2 * endpointRoom {
		b := b
		e := b.endpoint(fmt.Sprintf("https://s%d.example/", i), boardNow)
		b.slow(e)
	}
	if n := len(b.endpoints); n > endpointRoom+boardRoom {
		t.Errorf("%d endpoints are remembered", n)
	}
}

// Whatever happens, the counts are those of what is there, and in the end there
// is nothing.
func TestBoardCounts(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBoard(Limits{Prompt: 12, Slow: 6, Host: 8, Account: 10})
		var seats []*seat
		waiting, id := 0, 0
		for range 3000 {
			lane := db.Lane(r.IntN(2))
			switch r.IntN(4) {
			case 0, 1:
				id++
				if b.offer(event(id, fmt.Sprint("acc", r.IntN(3)), fmt.Sprintf("http://h%d.example/%d", r.IntN(3), r.IntN(4)), lane), boardNow) {
					waiting++
				}
			case 2:
				got := b.take(lane, 1+r.IntN(5))
				waiting -= len(got)
				seats = append(seats, got...)
			case 3:
				if len(seats) == 0 {
					continue
				}
				i := r.IntN(len(seats))
				if r.IntN(3) == 0 {
					b.overdue(seats[i])
					continue
				}
				b.leave(seats[i], health(r.IntN(3)), boardNow)
				seats = append(seats[:i], seats[i+1:]...)
			}
			if n := b.lanes[0].waiting + b.lanes[1].waiting; n != waiting || len(b.held) != waiting+len(seats) {
				t.Fatalf("seed %d: %d wait, %d are held; there are %d and %d", seed, n, len(b.held), waiting, waiting+len(seats))
			}
			if n := b.lanes[0].underWay + b.lanes[1].underWay; n != len(seats) {
				t.Fatalf("seed %d: %d under way, there are %d", seed, n, len(seats))
			}
		}
		for len(seats) > 0 || waiting > 0 {
			for _, s := range seats {
				b.leave(s, well, boardNow)
			}
			seats = append(b.take(db.Prompt, 100), b.take(db.Slow, 100)...)
			if waiting -= len(seats); len(seats) == 0 && waiting > 0 {
				t.Fatalf("seed %d: %d never have a turn", seed, waiting)
			}
		}
		if len(b.hosts)+len(b.accounts)+len(b.endpoints)+len(b.held) > 0 {
			t.Errorf("seed %d: something is left: %v %v %v %v", seed, b.hosts, b.accounts, b.endpoints, b.held)
		}
	}
}
