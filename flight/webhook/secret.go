package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
)

// The bounds of a secret that a client supplies, in characters.
const (
	MinSecret = 16
	MaxSecret = 256
)

const secretPrefix = "whsec_"

// GenerateSecret returns a new signing secret: "whsec_" and 32 random bytes in
// standard base64, as Standard Webhooks has it.
func GenerateSecret() string {
	var key [32]byte
	rand.Read(key[:]) // never fails: it would end the process
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// MaskSecret returns what may be shown of a secret: "whsec_****" and its last
// four characters. Of a secret too short to be valid it shows none of it.
func MaskSecret(secret string) string {
	if len(secret) < MinSecret {
		return secretPrefix + "****"
	}
	return secretPrefix + "****" + secret[len(secret)-4:]
}

// CheckSecret returns nil for a secret that a client may supply: 16 to 256
// printable ASCII characters. Otherwise the error's text says what is wrong
// with it, without repeating it: "must have 16 to 256 characters".
func CheckSecret(secret string) error {
	for i := range len(secret) {
		if secret[i] < ' ' || secret[i] > '~' {
			return errors.New("must consist of printable ASCII characters")
		}
	}
	if len(secret) < MinSecret || len(secret) > MaxSecret {
		return fmt.Errorf("must have %d to %d characters", MinSecret, MaxSecret)
	}
	return nil
}
