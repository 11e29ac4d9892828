package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"
)

// A key reads fw_<key id>_<secret>, an account token fwa_<token id>_<secret>.
// Both parts are base32 without padding, so the text has no other underscore,
// survives every shell and copies with a double click.
const (
	keyPrefix   = "fw_"
	tokenPrefix = "fwa_"

	idLen     = 16 // 80 bits: nobody can ask for an id before it is given out
	secretLen = 26 // 130 bits
)

// newKeyID and newSecret draw from the system's randomness.
func newKeyID() string  { return strings.ToLower(rand.Text()[:idLen]) }
func newSecret() string { return rand.Text()[:secretLen] }

// keyText is the key as its owner sees it, once.
func keyText(id, secret string) string { return keyPrefix + id + "_" + secret }

// tokenText is the account token as its owner sees it, once.
func tokenText(id, secret string) string { return tokenPrefix + id + "_" + secret }

// ofToken is the secret of an account token as it is hashed. The hash of a
// token therefore fits no key, and no key's fits a token, whatever somebody
// puts in front of it.
func ofToken(secret string) string { return tokenPrefix + secret }

// IsToken reports whether what was presented claims to be an account token.
func IsToken(presented string) bool { return strings.HasPrefix(presented, tokenPrefix) }

// splitKey takes a presented key or account token apart; secret is as it is
// hashed. ok is false for whatever cannot be one of ours, so that such a thing
// costs neither Redis nor SQL.
func splitKey(presented string) (id, secret string, ok bool) {
	prefix := keyPrefix
	if IsToken(presented) {
		prefix = tokenPrefix
	}
	at := len(prefix) + idLen
	if len(presented) != at+1+secretLen || presented[:len(prefix)] != prefix || presented[at] != '_' {
		return "", "", false
	}
	id, secret = presented[len(prefix):at], presented[at+1:]
	if !validID(id) || !base32(secret, 'A') {
		return "", "", false
	}
	if prefix == tokenPrefix {
		secret = ofToken(secret)
	}
	return id, secret, true
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
