package db

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// sealer encrypts signing secrets at rest with AES-256-GCM. What it seals with
// the first key it opens with any, so that keys can be changed.
type sealer struct {
	aeads []cipher.AEAD
	first string // digest of the first key
}

const sealPrefix = "v1:" // the form of a sealed secret, should there be another

func newSealer(keys []string) (*sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("a secret key is needed: 32 random bytes in base64")
	}
	s := &sealer{}
	for i, k := range keys {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(k))
		if err != nil || len(raw) != 32 {
			return nil, fmt.Errorf("secret key %d must be 32 bytes in base64; make one with: openssl rand -base64 32", i+1)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		s.aeads = append(s.aeads, aead)
		if i == 0 {
			s.first = digestOf(raw)
		}
	}
	return s, nil
}

// Seal encrypts a secret for the subscription with this id; it opens for no
// other.
func (s *sealer) Seal(id, secret string) string {
	nonce := make([]byte, s.aeads[0].NonceSize())
	_, _ = rand.Read(nonce) // never fails
	sealed := s.aeads[0].Seal(nonce, nonce, []byte(secret), []byte(id))
	return sealPrefix + base64.StdEncoding.EncodeToString(sealed)
}

// Open decrypts what Seal made for id.
func (s *sealer) Open(id, sealed string) (string, error) {
	secret, _, err := s.open(id, sealed)
	return secret, err
}

// open is Open, and says whether it was sealed with the first key.
func (s *sealer) open(id, sealed string) (secret string, first bool, err error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sealed, sealPrefix))
	if err != nil {
		return "", false, fmt.Errorf("sealed secret of %s: %w", id, err)
	}
	for i, aead := range s.aeads {
		n := aead.NonceSize()
		if len(raw) < n {
			break
		}
		if secret, err := aead.Open(nil, raw[:n], raw[n:], []byte(id)); err == nil {
			return string(secret), i == 0, nil
		}
	}
	return "", false, fmt.Errorf("the secret of %s opens with none of the secret keys; was FLIGHTWIRE_SECRET_KEY changed?", id)
}
