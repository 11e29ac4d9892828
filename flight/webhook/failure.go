package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// A phase of an attempt. They follow one another in this order.
const (
	phaseStart int32 = iota
	phaseResolve
	phaseConnect
	phaseTLS
	phaseRequest // on a connection: sending, or waiting for the answer
	phaseAnswer  // the answer's first byte is there
)

// progress follows an attempt through its phases. net/http has no types for
// most of its errors; how far the attempt came tells them apart.
type progress struct{ phase atomic.Int32 }

// reach moves on, never back: a dial may go on in the background after its
// request found another connection.
func (p *progress) reach(phase int32) {
	for {
		old := p.phase.Load()
		if old >= phase || p.phase.CompareAndSwap(old, phase) {
			return
		}
	}
}

func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { p.reach(phaseResolve) },
		ConnectStart:         func(string, string) { p.reach(phaseConnect) },
		TLSHandshakeStart:    func() { p.reach(phaseTLS) },
		GotConn:              func(httptrace.GotConnInfo) { p.reach(phaseRequest) },
		GotFirstResponseByte: func() { p.reach(phaseAnswer) },
	}
}

// errTimeout is the cause of an attempt's cancellation when its time is up.
var errTimeout = errors.New("webhook: time-out")

// failureClass returns the error class of an exchange that gave no answer.
// cause is the cause of its context's cancellation, or nil.
func failureClass(err, cause error, phase int32) string {
	var (
		dns         *net.DNSError
		network     net.Error
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrInvalidHostPort), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return ClassBlockedAddress
	case cause == errTimeout, errors.Is(cause, context.DeadlineExceeded):
		return ClassTimeout
	case cause != nil:
		return ClassCanceled
	case errors.As(err, &dns):
		return ClassDNS
	case errors.As(err, &network) && network.Timeout():
		return ClassTimeout
	case phase == phaseTLS, errors.As(err, &certificate):
		return ClassTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return ClassConnectionRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return ClassUnreachable
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ClassConnectionReset
	case phase == phaseAnswer:
		return ClassMalformedResponse
	case phase == phaseRequest:
		return ClassConnectionReset // the pool's own words for a connection lost under it
	default:
		return ClassNetwork
	}
}

// failureText says in one sentence what went wrong. It holds nothing that the
// receiver sent, no address (a name may resolve inside our own network) and
// nothing of the URL but its host.
func failureText(class string, err error, host string, phase int32, timeout time.Duration) string {
	switch class {
	case ClassTimeout:
		return timeoutText(host, phase, timeout)
	case ClassDNS:
		return fmt.Sprintf("the host name %s could not be resolved", host)
	case ClassConnectionRefused:
		return fmt.Sprintf("%s refused the connection", host)
	case ClassUnreachable:
		return fmt.Sprintf("there is no route to %s", host)
	case ClassConnectionReset:
		return fmt.Sprintf("%s closed the connection before it had answered", host)
	case ClassTLS:
		return tlsText(err, host)
	case ClassBlockedAddress:
		return fmt.Sprintf("%s has an address that is not public: nothing was sent", host)
	case ClassMalformedResponse:
		return fmt.Sprintf("%s sent an answer that is not valid HTTP", host)
	case ClassCanceled:
		return "the attempt was broken off before there was an answer"
	default:
		return fmt.Sprintf("the connection to %s failed", host)
	}
}

func timeoutText(host string, phase int32, timeout time.Duration) string {
	switch phase {
	case phaseStart, phaseResolve:
		return fmt.Sprintf("the host name %s was not resolved in time", host)
	case phaseConnect:
		return fmt.Sprintf("%s did not take the connection in time", host)
	case phaseTLS:
		return fmt.Sprintf("the TLS handshake with %s did not end in time", host)
	case phaseAnswer:
		return fmt.Sprintf("%s began an answer and did not end its headers within %s", host, timeout)
	default:
		return fmt.Sprintf("%s did not answer within %s", host, timeout)
	}
}

func tlsText(err error, host string) string {
	var (
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &certificate):
		return fmt.Sprintf("the TLS certificate of %s was not accepted: %s", host, clean([]byte(certificate.Err.Error()), 200))
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("%s did not speak TLS", host)
	default:
		return fmt.Sprintf("the TLS handshake with %s failed", host)
	}
}
