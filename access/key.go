package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// A key reads fw_<key id>_<secret>. Both parts are base32 without padding, so
// the text has no other underscore, survives every shell and copies with a
// double click.
const (
	keyPrefix = "fw_"
	idLen     = 16 // 80 bits: nobody can ask for an id before it is given out
	secretLen = 26 // 130 bits
)

// newKeyID and newSecret draw from the system's randomness.
func newKeyID() string  { return strings.ToLower(rand.Text()[:idLen]) }
func newSecret() string { return rand.Text()[:secretLen] }

// keyText is the key as its owner sees it, once.
func keyText(id, secret string) string { return keyPrefix + id + "_" + secret }

// splitKey takes a presented key apart. ok is false for whatever cannot be one
// of ours, so that such a thing costs neither Redis nor SQL.
func splitKey(presented string) (id, secret string, ok bool) {
	const at = len(keyPrefix) + idLen
	if len(presented) != at+1+secretLen || presented[:len(keyPrefix)] != keyPrefix || presented[at] != '_' {
		return "", "", false
	}
	id, secret = presented[len(keyPrefix):at], presented[at+1:]
	return id, secret, validID(id) && base32(secret, 'A')
}

func validID(id string) bool { return len(id) == idLen && base32(id, 'a') }

// base32 reports whether s is made of 2 to 7 and the 26 letters from first on.
func base32(s string, first byte) bool {
	for i := range len(s) {
		if c := s[i]; c-first >= 26 && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// hashSecret is what is stored of a secret. A slow hash protects what people
// choose; 130 random bits cannot be guessed however fast the hash is, and the
// check runs on every request.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// matches compares a secret with a stored hash in constant time.
func matches(hash, secret string) bool {
	var want, got [2 * sha256.Size]byte
	sum := sha256.Sum256([]byte(secret))
	hex.Encode(got[:], sum[:])
	return copy(want[:], hash) == len(hash) && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
