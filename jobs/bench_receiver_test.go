package jobs_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db/dbtest"
	"github.com/flightwire/flightwire/flight/webhook"
)

// The receiver of the benchmarks is a process of its own, so that its CPU is
// not taken for ours: this test binary, started with this variable.
const benchReceiverEnv = "FLIGHTWIRE_BENCH_RECEIVER"

func init() {
	if os.Getenv(benchReceiverEnv) != "" {
		runBenchReceiver()
		os.Exit(0)
	}
}

// receipt is one webhook that came in whole.
type receipt struct {
	Path uint32 // the number at the end of its path
	At   int64  // Unix nanoseconds
}

// runBenchReceiver answers 204 to /hook/N and notes when it came; /hang/N has
// no answer. /wait?n= answers when n have come, with the time of the last;
// /receipts returns and forgets them.
func runBenchReceiver() {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(strconv.Itoa(l.Addr().(*net.TCPAddr).Port) + "\n")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the benchmark
		os.Exit(0)
	}()
	var mu sync.Mutex
	more := sync.NewCond(&mu)
	got := make([]receipt, 0, 1<<20)
	http.HandleFunc("/hook/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n, _ := strconv.Atoi(r.URL.Path[len("/hook/"):])
		mu.Lock()
		got = append(got, receipt{uint32(n), time.Now().UnixNano()})
		more.Broadcast()
		mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})
	http.HandleFunc("/hang/", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	http.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		mu.Lock()
		for len(got) < n {
			more.Wait()
		}
		mu.Unlock()
	})
	http.HandleFunc("/receipts", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_ = binary.Write(w, binary.LittleEndian, got)
		got = got[:0]
	})
	_ = http.Serve(l, nil)
}

// benchReceiver is the process that receives.
type benchReceiver struct{ port string }

func startBenchReceiver(t *testing.T) *benchReceiver {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchReceiverEnv+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &benchReceiver{strings.TrimSpace(port)}
}

// url is the address of the nth webhook; kind is "hook" or "hang".
func (r *benchReceiver) url(host, kind string, n int) string {
	return fmt.Sprintf("http://%s:%s/%s/%d", host, r.port, kind, n)
}

// receipts waits until n have come, and returns all that have.
func (r *benchReceiver) receipts(t *testing.T, n int) []receipt {
	t.Helper()
	r.ask(t, fmt.Sprintf("/wait?n=%d", n))
	raw := r.ask(t, "/receipts")
	got := make([]receipt, len(raw)/binary.Size(receipt{}))
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, got); err != nil {
		t.Fatal(err)
	}
	return got
}

func (r *benchReceiver) ask(t *testing.T, path string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+r.port+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// last is when the last of them came.
func last(got []receipt) time.Time {
	var at int64
	for _, r := range got {
		at = max(at, r.At)
	}
	return time.Unix(0, at)
}

// meter tells the CPU time of this process and of its servers.
type meter struct {
	postgres, redis int // process ids; 0: none, or not on this machine
}

// spent is CPU time, by who spent it.
type spent struct{ Own, Postgres, Redis time.Duration }

func (s spent) sub(o spent) spent {
	return spent{s.Own - o.Own, s.Postgres - o.Postgres, s.Redis - o.Redis}
}

func (s spent) all() time.Duration { return s.Own + s.Postgres + s.Redis }

func newMeter(t *testing.T, m dbtest.Mode) meter {
	t.Helper()
	if m.Name == "sqlite" {
		return meter{}
	}
	var backend int
	if err := openSQL(t, m).GetContext(t.Context(), &backend, `SELECT pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
	info, err := m.Redis.(*redis.Client).InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(info["Server"]["process_id"])
	return meter{postgres: stat(backend).parent, redis: pid}
}

func (m meter) now() spent {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	s := spent{Own: time.Duration(u.Utime.Nano() + u.Stime.Nano())}
	if m.redis != 0 {
		s.Redis = stat(m.redis).cpu
	}
	if m.postgres != 0 {
		s.Postgres = stat(m.postgres).cpu
		dirs, _ := filepath.Glob("/proc/[0-9]*")
		for _, d := range dirs {
			pid, _ := strconv.Atoi(filepath.Base(d))
			if p := stat(pid); p.parent == m.postgres {
				s.Postgres += p.cpu
			}
		}
	}
	return s
}

type process struct {
	parent int
	cpu    time.Duration // with that of children that have ended
}

// stat reads /proc/PID/stat; zero when there is no such process.
func stat(pid int) (p process) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	p.parent, _ = strconv.Atoi(fields[1])
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		ticks, _ := strconv.Atoi(f)
		p.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	return p
}

// bareLoop posts n signed bodies of 4 KB, 32 at a time, and returns how many a
// second that makes and the CPU of each: what is compared with.
func bareLoop(t *testing.T, recv *benchReceiver, n int) (rate float64, cpu time.Duration) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	defer client.CloseIdleConnections()
	secret, body, url := webhook.GenerateSecret(), bytes.Repeat([]byte("x"), 4096), recv.url("127.0.0.1", "hook", 0)
	post := func() error {
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		now := time.Now().Unix()
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("x-service-timestamp", strconv.FormatInt(now, 10))
		req.Header.Set("x-service-signature", webhook.Sign(secret, now, body))
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Body.Close()
	}
	began, used := time.Now(), meter{}.now()
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range n / 32 {
				if err := post(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	got := len(recv.receipts(t, n/32*32))
	return float64(got) / took.Seconds(), meter{}.now().sub(used).all() / time.Duration(got)
}
