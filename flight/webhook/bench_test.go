package webhook

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The receiver of the benchmarks is a process of its own, so that getrusage
// tells the sender's CPU alone: this test binary, started with this variable.
const benchReceiverEnv = "WEBHOOK_BENCH_RECEIVER"

func benchReceiver() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(l.Addr().String() + "\n")
	go func() {
		io.Copy(io.Discard, os.Stdin) // ends with the benchmark
		os.Exit(0)
	}()
	http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
}

func startBenchReceiver(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchReceiverEnv+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stdin.Close(); cmd.Wait() })
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(addr) + "/hook"
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// runBench runs send 32 at a time and reports the CPU of each.
func runBench(b *testing.B, send func(url string, body []byte) int) {
	url := startBenchReceiver(b)
	body := bytes.Repeat([]byte("x"), 4096)
	b.ReportAllocs()
	b.SetParallelism(max(1, 32/max(1, runtime.GOMAXPROCS(0))))
	cpu := cpuTime()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if status := send(url, body); status != http.StatusNoContent {
				b.Errorf("status %d", status)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkSend is a signed delivery of 4 KB over kept connections, 32 at a time.
func BenchmarkSend(b *testing.B) {
	s := NewSender(Config{AllowPrivate: true, LegacyPrefix: "legacy"})
	defer s.Close()
	secret := GenerateSecret()
	runBench(b, func(url string, body []byte) int {
		return s.Send(b.Context(), Request{
			URL: url, Secret: secret, EventID: "evt_01", EventType: "flight.updated",
			SubscriptionID: "sub_01", Attempt: 1, Body: body,
		}).StatusCode
	})
}

// BenchmarkBare is what BenchmarkSend is held against: the plainest client that
// posts the same body with the contract's signature.
func BenchmarkBare(b *testing.B) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	defer client.CloseIdleConnections()
	secret := GenerateSecret()
	runBench(b, func(url string, body []byte) int {
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return 0
		}
		now := time.Now().Unix()
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("x-service-timestamp", strconv.FormatInt(now, 10))
		req.Header.Set("x-service-signature", Sign(secret, now, body))
		resp, err := client.Do(req)
		if err != nil {
			return 0
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp.StatusCode
	})
}

// BenchmarkSign is the contract's signature of 4 KB alone.
func BenchmarkSign(b *testing.B) {
	secret, body := GenerateSecret(), bytes.Repeat([]byte("x"), 4096)
	b.ReportAllocs()
	for b.Loop() {
		Sign(secret, 1767225600, body)
	}
}
