package jobs_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flightwire/flightwire/flight/webhook"
)

// hell is a network in memory in which every host has its own way of taking
// webhooks.
type hell struct {
	t     *testing.T
	hosts map[string]*demon
	conns sync.WaitGroup
}

// demon is a receiver.
type demon struct {
	name     string
	address  func(n int) string      // that its name resolves to the nth time; nil: a public one
	deaf     bool                    // it takes no connection
	broken   error                   // what reading an answer ends with; nil: what serve writes
	tls      *tls.Certificate        // what it speaks TLS with; nil: it speaks none
	plain    string                  // what it says to what is not HTTP
	serve    func(c net.Conn, n int) // answers the nth request, which has been read
	mu       sync.Mutex
	dialled  int
	requests []request
}

// request is one that came in.
type request struct {
	at     time.Time
	header http.Header
	body   []byte
}

const publicAddress = "93.184.216.34"

// dial connects as the operating system would.
func (h *hell) dial(ctx context.Context, _, address string, check webhook.Check) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(host, ".")
	d := h.hosts[name]
	if d == nil {
		h.t.Errorf("%s was to be contacted", address)
		return nil, syscall.ECONNREFUSED
	}
	d.mu.Lock()
	d.dialled++
	n := d.dialled
	d.mu.Unlock()
	trace := httptrace.ContextClientTrace(ctx)
	trace.DNSStart(httptrace.DNSStartInfo{Host: host})
	at := publicAddress
	if d.address != nil {
		at = d.address(n)
	}
	at = net.JoinHostPort(at, port)
	trace.ConnectStart("tcp", at)
	if err := check("tcp4", at, nil); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	if d.deaf {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
	ours, theirs := net.Pipe()
	h.conns.Go(func() { d.answer(theirs) })
	if d.broken != nil {
		return brokenConn{ours, d.broken}, nil
	}
	return ours, nil
}

// answer takes one request of a connection and closes it.
func (d *demon) answer(c net.Conn) {
	defer func() { _ = c.Close() }()
	if d.tls != nil {
		c = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*d.tls}})
	}
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil { // the sender has refused this receiver, or speaks TLS
		_, _ = io.WriteString(c, d.plain)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	d.mu.Lock()
	d.requests = append(d.requests, request{time.Now(), r.Header, body})
	n := len(d.requests)
	d.mu.Unlock()
	d.serve(c, n)
}

// brokenConn ends in an error that a pipe has not.
type brokenConn struct {
	net.Conn
	err error
}

func (c brokenConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		err = &net.OpError{Op: "read", Net: "tcp", Err: c.err}
	}
	return n, err
}

// says answers every request with the same.
func says(answer string) func(net.Conn, int) {
	return func(c net.Conn, _ int) { _, _ = io.WriteString(c, answer) }
}

// status answers with a status and, where there are, headers.
func status(code int, headers ...string) func(net.Conn, int) {
	return says(fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 0\r\n%s\r\n", code, http.StatusText(code), strings.Join(headers, "")))
}

// silent says nothing until the sender has had enough.
func silent(c net.Conn, _ int) { _, _ = io.Copy(io.Discard, c) }

// late answers after a while, if somebody still listens.
func late(after time.Duration, answer string) func(net.Conn, int) {
	return func(c net.Conn, _ int) {
		time.Sleep(after)
		_, _ = io.WriteString(c, answer)
	}
}

// drips says head at once, and the rest one byte a second.
func drips(head, rest string) func(net.Conn, int) {
	return func(c net.Conn, _ int) {
		_, err := io.WriteString(c, head)
		for i := 0; i < len(rest) && err == nil; i++ {
			time.Sleep(time.Second)
			_, err = io.WriteString(c, rest[i:i+1])
		}
	}
}

// floods says head and then the same for ever, or n times.
func floods(head, more string, times int) func(net.Conn, int) {
	return func(c net.Conn, _ int) {
		_, err := io.WriteString(c, head)
		for i := 0; i < times && err == nil; i++ {
			_, err = io.WriteString(c, more)
		}
	}
}

// inTurn answers the nth request with the nth answer, and those that follow
// with the last.
func inTurn(serve ...func(net.Conn, int)) func(net.Conn, int) {
	return func(c net.Conn, n int) { serve[min(n, len(serve))-1](c, n) }
}

// selfSigned is a certificate that nobody vouches for.
func selfSigned(t *testing.T) *tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"tls.example"}, NotBefore: time.Now(), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}
