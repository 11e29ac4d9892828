package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestBenchCrowd prints how soon 10,000 look-ups of one flight at once are all
// answered, on two processes, by an upstream that takes a second. Each look-up
// has a connection of its own, opened before. It fails on no figure, but where
// the upstream is called more than once.
func TestBenchCrowd(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") != "1" {
		t.Skip("make bench runs it")
	}
	const lookups, rounds = 10_000, 5
	c := newCrowd(t, time.Second)
	conns := make([]*bystander, lookups)
	for i := range conns {
		conns[i] = c.enter(t, i)
	}
	var last []time.Duration
	servers, own := c.cpu(t), ownCPU(t)
	for round := range rounds {
		request := fmt.Sprintf("GET /v1/flights/AA/%d/%s HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: %s\r\n\r\n", 100+round, flightDate(), c.key)
		var all sync.WaitGroup
		start := make(chan struct{})
		for _, b := range conns {
			all.Go(func() {
				<-start
				if err := b.ask(request); err != nil {
					t.Error(err)
				}
			})
		}
		began := time.Now()
		close(start)
		all.Wait()
		last = append(last, time.Since(began))
	}
	if calls, flights := c.provider.total(); calls != rounds || flights != rounds {
		t.Errorf("%d calls for %d flights", calls, flights)
	}
	servers, own = (c.cpu(t)-servers)/rounds, (ownCPU(t)-own)/rounds
	slices.Sort(last)
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("%d look-ups of one flight on two processes, upstream 1 s: the last is answered after %v (median of %d; %v to %v; bound: 1.5 s), one call each; CPU of the processes %v, of the crowd %v; load %s",
		lookups, last[rounds/2].Round(time.Millisecond), rounds, last[0].Round(time.Millisecond), last[rounds-1].Round(time.Millisecond), servers, own, strings.TrimSpace(string(load)))
}

// cpu is what both processes have used.
func (c *crowd) cpu(t *testing.T) (used time.Duration) {
	t.Helper()
	for _, p := range c.processes {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		for _, ticks := range fields[11:13] { // user and system time, in hundredths
			n, err := strconv.Atoi(ticks)
			if err != nil {
				t.Fatal(err)
			}
			used += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return used
}

// ownCPU is what this process, which is the crowd, has used.
func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Round(10 * time.Millisecond)
}

// bystander is one of a crowd, with a connection of its own.
type bystander struct {
	conn net.Conn
	from *bufio.Reader
}

// enter opens a connection to one process or the other, and asks something
// there, so that it stays open.
func (c *crowd) enter(t *testing.T, i int) *bystander {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.processes[i%2].base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	b := &bystander{conn, bufio.NewReader(conn)}
	if err := b.ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return b
}

// ask sends a request and reads the answer, which must be a 200.
func (b *bystander) ask(request string) error {
	if _, err := io.WriteString(b.conn, request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(b.from, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %s", resp.Status)
	}
	return err
}
