package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrNotStandard is what [VerifyStandard] answers for a secret that is not
// "whsec_" and base64: deliveries that are signed with it have no
// webhook-signature. [Verify] takes every secret.
var ErrNotStandard = errors.New("webhook: the secret has not the form of Standard Webhooks")

// maxID bounds the ids that VerifyStandard takes; ours have 36 bytes.
const maxID = 256

// SignStandard returns the value of the webhook-signature header of the
// Standard Webhooks specification 1.0.0, "v1,<base64>": the HMAC-SHA256, keyed
// with the bytes that the base64 part of the secret stands for, of the event's
// id, the timestamp and the raw body, joined by full stops. It returns "" for a
// secret that is not "whsec_" and base64, and for an id with a full stop in it,
// which the specification forbids.
func SignStandard(secret, id string, timestamp int64, body []byte) string {
	key, ok := standardKey(secret)
	if !ok || strings.Contains(id, ".") {
		return ""
	}
	var digits [20]byte
	sum := standardMAC(key, id, strconv.AppendInt(digits[:0], timestamp, 10), body)
	var out [3 + 44]byte
	return string(base64.StdEncoding.AppendEncode(append(out[:0], "v1,"...), sum[:]))
}

// VerifyStandard is [Verify] by the headers of the Standard Webhooks
// specification, webhook-id, webhook-timestamp and webhook-signature: it reports
// whether they were made for these body bytes with this secret at most
// [Tolerance] before or after now. Of several v1 signatures, separated by
// spaces, one has to be right; other versions are ignored. It returns nil,
// [ErrNoSignature], [ErrMalformed], [ErrExpired], [ErrMismatch] or
// [ErrNotStandard].
func VerifyStandard(secret string, header http.Header, body []byte, now time.Time) error {
	key, ok := standardKey(secret)
	if !ok {
		return ErrNotStandard
	}
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	sums, err := standardSignatures(header.Get("webhook-signature"))
	switch {
	case err != nil:
		return err
	case id == "" || len(id) > maxID || strings.Contains(id, ".") || !isTimestamp(timestamp):
		return ErrMalformed
	}
	at, _ := strconv.ParseInt(timestamp, 10, 64) // twelve digits always fit
	if !fresh(at, now) {
		return ErrExpired
	}
	want := standardMAC(key, id, []byte(timestamp), body)
	if !anyEqual(sums, want) {
		return ErrMismatch
	}
	return nil
}

// standardMAC is the HMAC of the specification over "<id>.<t>.<body>".
func standardMAC(key []byte, id string, t, body []byte) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, key)
	var buf [96]byte
	head := append(append(buf[:0], id...), '.')
	head = append(append(head, t...), '.')
	mac.Write(head)
	mac.Write(body)
	mac.Sum(sum[:0])
	return sum
}

// standardSignatures takes the v1 signatures out of a list separated by spaces.
func standardSignatures(list string) (sums [][sha256.Size]byte, err error) {
	if len(list) > maxSignatureHeader {
		return nil, ErrMalformed
	}
	for part := range strings.FieldsSeq(list) {
		version, value, ok := strings.Cut(part, ",")
		if !ok {
			return nil, ErrMalformed
		}
		if version != "v1" {
			continue
		}
		raw, err := base64.StdEncoding.Strict().DecodeString(value)
		if err != nil || len(raw) != sha256.Size {
			return nil, ErrMalformed
		}
		sums = append(sums, [sha256.Size]byte(raw))
	}
	if len(sums) == 0 {
		return nil, ErrNoSignature
	}
	return sums, nil
}

// standardKey returns the Standard Webhooks key of a secret of that form.
func standardKey(secret string) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, false
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	return key, err == nil && len(key) > 0
}
