package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// How long a stop waits for requests under way, and what a client may keep a
// connection waiting for. There is no write time-out: live subscriptions are
// answers that do not end.
const (
	drainTimeout  = 10 * time.Second
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

// server is the process's HTTP server.
type server struct {
	http     *http.Server
	listener net.Listener
	base     string     // its address on this machine
	failed   chan error // receives the error when it stops by itself
	streams  streams
}

// listen starts to serve h.
func listen(addr string, h http.Handler) (*server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	s := &server{listener: l, base: baseOf(l.Addr()), failed: make(chan error, 1)}
	s.streams.bodyTimeout = bodyTimeout
	s.streams.ctx, s.streams.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s.streams.wrap(h),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("the HTTP server failed: %w", err)
		}
	}()
	return s, nil
}

func (s *server) addr() string { return s.listener.Addr().String() }

// drain accepts nothing more, ends the streams, and waits a while for requests
// under way.
func (s *server) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	s.streams.cancel()
	err := s.http.Shutdown(ctx)
	s.streams.wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		slog.Warn("requests were cut off, because they took too long to finish")
		return nil
	}
	return err
}

// close ends what drain has left, if it was called at all.
func (s *server) close() error {
	s.streams.cancel()
	return s.http.Close()
}

// streams are the answers that do not end by themselves. The HTTP server knows
// nothing of a websocket, which outlives its request, so they are counted here. Their handlers end them
// when ctx ends.
type streams struct {
	bodyTimeout time.Duration // for reading a request; the handlers of streams lift it then

	ctx     context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when running falls to 0; nil: nobody waits
}

// streaming reports whether a request asks for such an answer.
func streaming(r *http.Request) bool {
	return r.Header.Get("Upgrade") != "" || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

func (s *streams) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 { // a body that trickles in holds nothing for long
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.bodyTimeout))
		}
		if !streaming(r) {
			next.ServeHTTP(w, r)
			return
		}
		s.count(1)
		defer s.count(-1)
		next.ServeHTTP(w, r)
	})
}

func (s *streams) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
	if s.running == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}

// hold counts a stream in that outlives its request, until release is called.
func (s *streams) hold() (release func()) {
	s.count(1)
	return func() { s.count(-1) }
}

// wait returns when no stream runs any more, or when ctx ends.
func (s *streams) wait(ctx context.Context) {
	s.mu.Lock()
	if s.running == 0 {
		s.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	s.idle = idle
	s.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// recorder notes the status of an answer, and is out of the way otherwise.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 || r.status < 200 && r.status != http.StatusSwitchingProtocols {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(r.ResponseWriter).Hijack()
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
