package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"code.dny.dev/ssrf"
)

// TestFailureClass holds what cannot be brought about on one machine; the other
// tests meet the rest.
func TestFailureClass(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		name  string
		err   error
		cause error
		phase int32
		class string
		text  string
	}{
		{"no answer to the connect", dial(os.ErrDeadlineExceeded), nil, phaseConnect, ClassTimeout, "h.test did not take the connection in time"},
		{"resolver out of time", context.Canceled, errTimeout, phaseResolve, ClassTimeout, "the host name h.test was not resolved in time"},
		{"the caller's deadline", context.DeadlineExceeded, context.DeadlineExceeded, phaseRequest, ClassTimeout, "h.test did not answer within 10s"},
		{"name server down", dial(&net.DNSError{Err: "timeout", IsTimeout: true}), nil, phaseResolve, ClassDNS, "the host name h.test could not be resolved"},
		{"no route", dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), nil, phaseConnect, ClassUnreachable, "there is no route to h.test"},
		{"network down", dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), nil, phaseConnect, ClassUnreachable, "there is no route to h.test"},
		{"blocked before the time was up", dial(fmt.Errorf("%w: 10.0.0.1", ssrf.ErrProhibitedIP)), errTimeout, phaseConnect, ClassBlockedAddress, "h.test has an address that is not public: nothing was sent"},
		{"no descriptors left", dial(os.NewSyscallError("socket", syscall.EMFILE)), nil, phaseConnect, ClassNetwork, "the connection to h.test failed"},
		{"pool closed it", errors.New("http: server closed idle connection"), nil, phaseRequest, ClassConnectionReset, "h.test closed the connection before it had answered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			class := failureClass(tt.err, tt.cause, tt.phase)
			if class != tt.class {
				t.Errorf("class %s, want %s", class, tt.class)
			}
			if text := failureText(class, tt.err, "h.test", tt.phase, 10*time.Second); text != tt.text {
				t.Errorf("text %q, want %q", text, tt.text)
			}
		})
	}
}

// TestHTTP2Failures: on a shared connection one stream's failure is its own.
func TestHTTP2Failures(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/flood":
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("b", 32<<10)); err != nil {
					return
				}
			}
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = discardLog
	connections := 0
	var mu sync.Mutex
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			mu.Lock()
			connections++
			mu.Unlock()
		}
	}
	srv.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	s := newTestSender(t, Config{AllowPrivate: true, RootCAs: roots, Timeout: time.Second, TLSTimeout: 5 * time.Second})
	for _, tt := range []struct {
		path    string
		class   string
		outcome Outcome
		kept    int
	}{
		{"/ok", "", Delivered, 0},
		{"/hang", ClassTimeout, Retryable, 0},
		{"/abort", ClassConnectionReset, Retryable, 0},
		{"/flood", "", Delivered, MaxResponseBody},
		{"/ok", "", Delivered, 0},
	} {
		res := s.Send(t.Context(), testRequest(srv.URL+tt.path))
		if res.ErrorClass != tt.class || res.Outcome != tt.outcome || len(res.ResponseBody) != tt.kept {
			t.Errorf("%s: %d bytes kept, %s %q %s", tt.path, len(res.ResponseBody), res.Outcome, res.ErrorClass, res.Error)
		}
	}
	s.Close()
	srv.Close()
	mu.Lock()
	defer mu.Unlock()
	if connections != 1 {
		t.Errorf("%d connections", connections)
	}
}

// TestConcurrentSends: deliveries that share connections never share bytes.
func TestConcurrentSends(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || Verify(testSecret, r.Header.Get("x-service-signature"), body, time.Unix(testTime, 0)) != nil {
			http.Error(w, "bad signature", http.StatusUnauthorized)
			return
		}
		io.WriteString(w, r.Header.Get("x-service-event-id")+" "+r.Header.Get("x-legacy-event-id")+" "+string(body))
	}))
	defer srv.Close()
	s := newTestSender(t, Config{AllowPrivate: true, LegacyPrefix: "legacy"})
	var wg sync.WaitGroup
	for worker := range 32 {
		wg.Go(func() {
			for i := range 20 {
				r := testRequest(srv.URL)
				r.EventID = fmt.Sprintf("evt_%d_%d", worker, i)
				r.Body = []byte(strings.Repeat(r.EventID, 10))
				want := r.EventID + " " + r.EventID + " " + string(r.Body)
				if res := s.Send(t.Context(), r); string(res.ResponseBody) != want {
					t.Errorf("got %+v, want %s", res, want)
				}
			}
		})
	}
	wg.Wait()
}
