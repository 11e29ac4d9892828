package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBenchColdStart prints how long the built binary takes from its start to
// being ready in dev, and what memory it then holds. It fails on no figure.
func TestBenchColdStart(t *testing.T) {
	if os.Getenv("FLIGHTWIRE_BENCH") != "1" {
		t.Skip("make bench runs it")
	}
	binary := filepath.Join(t.TempDir(), "flightwire")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	const starts = 5
	var first, later []time.Duration
	var memory []int
	for range starts {
		dir := t.TempDir()
		took, _ := coldStart(t, binary, dir, 0)
		first = append(first, took)
		took, kb := coldStart(t, binary, dir, 3*time.Second)
		later, memory = append(later, took), append(memory, kb)
	}
	slices.Sort(first)
	slices.Sort(later)
	slices.Sort(memory)
	t.Logf("cold start of dev to ready, median of %d: %v on an empty folder, %v on one that is there (bound: 1 s)",
		starts, first[starts/2].Round(time.Millisecond), later[starts/2].Round(time.Millisecond))
	t.Logf("resident memory idle, median of %d: %.1f MB (bound: 60 MB)", starts, float64(memory[starts/2])/1024)
}

var residentKB = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// coldStart starts the binary, and returns how long it took to be ready and
// its resident memory after idle.
func coldStart(t *testing.T, binary, dir string, idle time.Duration) (time.Duration, int) {
	p := &process{t: t, cmd: command([]string{"dev"}, []string{"FLIGHTWIRE_DATA_DIR=" + dir}), done: make(chan struct{})}
	p.cmd.Path, p.cmd.Stdout, p.cmd.Stderr = binary, &p.out, &p.out
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	defer p.Kill()
	p.until("it is ready", func() bool { return strings.Contains(p.out.String(), "msg=ready") })
	took := time.Since(begin)
	p.base = "http://" + listening.FindStringSubmatch(p.out.String())[1]
	if status := p.get("/readyz"); status != 200 {
		t.Errorf("it says that it is ready, and /readyz answers %d", status)
	}
	time.Sleep(idle) // what is measured is a process that has nothing to do
	kb := 0
	if status, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status"); err == nil {
		if m := residentKB.FindSubmatch(status); m != nil {
			kb, _ = strconv.Atoi(string(m[1]))
		}
	}
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit %d", code)
	}
	return took, kb
}
