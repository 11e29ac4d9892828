package webhook

import "net/http"

// Outcome is what follows from an attempt.
type Outcome string

const (
	// Delivered: the receiver answered 2xx in time.
	Delivered Outcome = "delivered"
	// Retryable: another attempt may succeed.
	Retryable Outcome = "retryable"
	// Rejected: the receiver does not want the event, or it cannot be sent.
	Rejected Outcome = "rejected"
)

// The error classes of attempts, stable words for logs and metrics. An attempt
// that was delivered has none.
const (
	ClassTimeout           = "timeout"            // no answer in time, in whichever phase
	ClassDNS               = "dns"                // the host name could not be resolved
	ClassConnectionRefused = "connection_refused" // nothing listens there
	ClassUnreachable       = "unreachable"        // no route to the address
	ClassConnectionReset   = "connection_reset"   // closed or reset before a whole answer
	ClassTLS               = "tls"                // handshake or certificate
	ClassBlockedAddress    = "blocked_address"    // the host's address is not public
	ClassMalformedResponse = "malformed_response" // an answer that is not HTTP, or has no end
	ClassNetwork           = "network_error"      // any other failure of the network
	ClassCanceled          = "canceled"           // the caller gave up, not the receiver
	ClassInvalidURL        = "invalid_url"        // the URL cannot be sent to
	ClassInvalidHeader     = "invalid_header"     // a header cannot be sent
	ClassRedirect          = "redirect"           // 3xx: not followed
	ClassHTTP4xx           = "http_4xx"           // 4xx, also 408 and 429
	ClassHTTP5xx           = "http_5xx"           // 5xx
	ClassHTTPOther         = "http_other"         // 1xx as the final answer, 6xx and above
)

// Classify decides what follows from an attempt: from the status where there is
// one, else (status 0) from the error class. By the contract, 2xx is delivered;
// network errors, time-outs, 5xx, 408 and 429 are retried; every other answer,
// a redirect too, is a rejection.
//
// A blocked address is retried as other network errors are: no request was
// made, the cause is most often a wrong or stale DNS record that its owner
// mends, and a retry contacts nobody. A canceled attempt is retried because it
// says nothing about the receiver. A URL or header that cannot be sent will not
// become sendable by waiting: it is rejected.
func Classify(status int, errorClass string) Outcome {
	switch {
	case status == 0:
		if errorClass == ClassInvalidURL || errorClass == ClassInvalidHeader {
			return Rejected
		}
		return Retryable
	case status >= 200 && status <= 299:
		return Delivered
	case status >= 500 && status <= 599, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return Retryable
	default:
		return Rejected
	}
}

// statusClass is the error class of an answer, "" for 2xx.
func statusClass(status int) string {
	switch status / 100 {
	case 2:
		return ""
	case 3:
		return ClassRedirect
	case 4:
		return ClassHTTP4xx
	case 5:
		return ClassHTTP5xx
	default:
		return ClassHTTPOther
	}
}
