package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far a signature's timestamp may lie from the receiver's
// clock, before or after it, for [Verify] to accept it.
const Tolerance = 300 * time.Second

// What [Verify] answers when it does not accept a delivery.
var (
	// ErrNoSignature: the header is empty or holds no v1 signature.
	ErrNoSignature = errors.New("webhook: no signature")
	// ErrMalformed: the header is not of the form t=<unix seconds>,v1=<hex>.
	ErrMalformed = errors.New("webhook: malformed signature header")
	// ErrExpired: the timestamp is more than Tolerance from now. The request is
	// old, was replayed, or a clock is wrong. The signature was not looked at.
	ErrExpired = errors.New("webhook: signature timestamp outside the tolerance")
	// ErrMismatch: no v1 signature is right for this secret, timestamp and body.
	// Most often the body was parsed and encoded again before it was verified.
	ErrMismatch = errors.New("webhook: signature does not match")
)

// maxSignatureHeader bounds what Verify parses: a dozen signatures, far more
// than a rotation of secrets needs.
const maxSignatureHeader = 1024

// Sign returns the value of the x-service-signature header,
// "t=<unix seconds>,v1=<hex>": the lower-case hex HMAC-SHA256, keyed with the
// whole secret as it is shown to the customer, of the timestamp, a full stop
// and the raw body.
func Sign(secret string, timestamp int64, body []byte) string {
	var buf [2 + 20 + 4 + 2*sha256.Size]byte
	out := append(buf[:0], "t="...)
	out = strconv.AppendInt(out, timestamp, 10)
	sum := contractMAC(secret, out[2:], body)
	out = append(out, ",v1="...)
	out = hex.AppendEncode(out, sum[:])
	return string(out)
}

// Verify reports whether signatureHeader, the value of x-service-signature,
// was made for these body bytes with this secret at most [Tolerance] before or
// after now. The body must be the bytes as received, before any JSON parsing.
// Of several v1 signatures one has to be right; parts of other names are
// ignored. It returns nil, [ErrNoSignature], [ErrMalformed], [ErrExpired] or
// [ErrMismatch].
func Verify(secret, signatureHeader string, body []byte, now time.Time) error {
	sig, err := parseSignature(signatureHeader)
	if err != nil {
		return err
	}
	if !fresh(sig.timestamp, now) {
		return ErrExpired
	}
	if !anyEqual(sig.v1, contractMAC(secret, []byte(sig.signed), body)) {
		return ErrMismatch
	}
	return nil
}

// fresh reports whether a timestamp is within the tolerance.
func fresh(timestamp int64, now time.Time) bool {
	age, tolerance := now.Unix()-timestamp, int64(Tolerance/time.Second)
	return -tolerance <= age && age <= tolerance
}

// anyEqual reports whether one of the sums is that one. There is no early exit:
// the time taken says nothing about which one matched.
func anyEqual(sums [][sha256.Size]byte, want [sha256.Size]byte) bool {
	matched := false
	for _, sum := range sums {
		if hmac.Equal(sum[:], want[:]) {
			matched = true
		}
	}
	return matched
}

// contractMAC is the HMAC of the contract over "<t>.<body>".
func contractMAC(secret string, t, body []byte) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(t)
	mac.Write([]byte{'.'})
	mac.Write(body)
	mac.Sum(sum[:0])
	return sum
}

// parsedSignature is a signature header taken apart.
type parsedSignature struct {
	timestamp int64
	signed    string // the timestamp as it was written, which is what was signed
	v1        [][sha256.Size]byte
}

// parseSignature takes a signature header apart: parts separated by commas,
// exactly one t of up to twelve digits, and at least one v1 of 64 hex digits.
func parseSignature(header string) (parsedSignature, error) {
	var sig parsedSignature
	if strings.TrimSpace(header) == "" {
		return sig, ErrNoSignature
	}
	if len(header) > maxSignatureHeader {
		return sig, ErrMalformed
	}
	for part := range strings.SplitSeq(header, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return sig, ErrMalformed
		}
		switch name {
		case "t":
			if sig.signed != "" || !isTimestamp(value) {
				return sig, ErrMalformed
			}
			sig.signed = value
			sig.timestamp, _ = strconv.ParseInt(value, 10, 64) // twelve digits always fit
		case "v1":
			var sum [sha256.Size]byte
			if len(value) != hex.EncodedLen(len(sum)) {
				return sig, ErrMalformed
			}
			if _, err := hex.Decode(sum[:], []byte(value)); err != nil {
				return sig, ErrMalformed
			}
			sig.v1 = append(sig.v1, sum)
		}
	}
	if sig.signed == "" {
		return sig, ErrMalformed
	}
	if len(sig.v1) == 0 {
		return sig, ErrNoSignature
	}
	return sig, nil
}

func isTimestamp(s string) bool {
	if len(s) == 0 || len(s) > 12 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
