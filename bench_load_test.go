package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func benchOnly(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") != "1" {
		t.Skip("make bench-graphql runs it")
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp.Status, err)
	}
	return string(text)
}

// clockTick is how many units of /proc's CPU times make a second, on every
// Linux that Go runs on.
const clockTick = 100

// cpuOf returns the CPU time that a process has had so far.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if err != nil || len(fields) < 13 {
		t.Fatalf("the CPU time of process %d cannot be read: %v", pid, err)
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / clockTick
}

// postRate sends a GraphQL request again and again on connections that stay
// open, and returns how often a second it was answered, and how often in all.
// The clients do as little as they can, so that what is measured is the server.
func postRate(t *testing.T, base, key string, body, answer []byte, connections int, span time.Duration) (rate float64, n int64) {
	t.Helper()
	host := strings.TrimPrefix(base, "http://")
	call := fmt.Appendf(nil, "POST /graphql HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: %d\r\n\r\n%s", host, key, len(body), body)
	var answered atomic.Int64
	var clients sync.WaitGroup
	start := time.Now()
	for range connections {
		clients.Go(func() {
			if err := postOver(host, call, len(answer), start.Add(span), &answered); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	n = answered.Load()
	return float64(n) / time.Since(start).Seconds(), n
}

func postOver(host string, call []byte, length int, until time.Time, answered *atomic.Int64) error {
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 16<<10)
	for time.Now().Before(until) {
		if _, err := conn.Write(call); err != nil {
			return err
		}
		n, err := skipAnswer(in)
		if err != nil || n != length {
			return cmp.Or(err, fmt.Errorf("%w: %d bytes, not %d", errBenchAnswer, n, length))
		}
		answered.Add(1)
	}
	return nil
}

// skipAnswer reads an HTTP answer of 200, of a length that is told or in
// chunks, and returns how long its body is.
func skipAnswer(in *bufio.Reader) (n int, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		return 0, cmp.Or(err, fmt.Errorf("answered %q", line))
	}
	length := -1
	for len(line) > 2 { // the header ends with an empty line
		if line, err = in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		const name = "content-length: "
		if len(line) > len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(name):]))); err != nil {
				return 0, err
			}
		}
	}
	if length >= 0 {
		return in.Discard(length)
	}
	for {
		if line, err = in.ReadSlice('\n'); err != nil {
			return n, err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return n, err
		}
		if _, err := in.Discard(int(size) + 2); err != nil {
			return n, err
		}
		if n += int(size); size == 0 {
			return n, nil
		}
	}
}
