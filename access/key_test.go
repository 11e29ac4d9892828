package access

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

const testID = "abcdefgh234567xy"

var malformed = map[string]string{
	"another product's":     "sk_live_0123456789abcdef0123456789abcdef0123456",
	"prefix only":           "fw_",
	"prefix in capitals":    "FW_" + testID + "_" + testSecret,
	"token of another kind": "fwb_" + testID + "_" + testSecret,
	"short account token":   "fwa_" + testID + "_" + testSecret[1:],
	"token without its id":  "fwa_" + testSecret,
	"no secret":             "fw_" + testID + "_",
	"no id":                 "fw__" + testSecret,
	"no second underscore":  "fw_" + testID + testSecret,
	"secret cut short":      "fw_" + testID + "_" + testSecret[1:],
	"secret too long":       "fw_" + testID + "_" + testSecret + "A",
	"id in capitals":        "fw_" + strings.ToUpper(testID) + "_" + testSecret,
	"secret in lower case":  "fw_" + testID + "_" + strings.ToLower(testSecret),
	"brace in the id":       "fw_" + testID[1:] + "}_" + testSecret,
	"digit that is none":    "fw_" + testID[1:] + "1_" + testSecret,
	"space behind":          "fw_" + testID + "_" + testSecret + " ",
	"NUL in the secret":     "fw_" + testID + "_" + testSecret[1:] + "\x00",
	"not ASCII":             "fw_" + testID + "_" + testSecret[2:] + "É",
	"right size, no key":    strings.Repeat("_", len("fw_"+testID+"_"+testSecret)),
	"very long":             strings.Repeat("fw_", 1<<16),
}

func TestSplitKey(t *testing.T) {
	id, secret, ok := splitKey("fw_" + testID + "_" + testSecret)
	if id != testID || secret != testSecret || !ok {
		t.Errorf("got %q, %q, %v", id, secret, ok)
	}
	for name, text := range malformed {
		if _, _, ok := splitKey(text); ok {
			t.Errorf("%s: %q passes for a key", name, text)
		}
	}
}

func TestNewKeysAreWellFormedAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id, secret := newKeyID(), newSecret()
		gotID, gotSecret, ok := splitKey(keyText(id, secret))
		if !ok || gotID != id || gotSecret != secret || !validID(id) {
			t.Fatalf("%s is taken apart as %q, %q, %v", keyText(id, secret), gotID, gotSecret, ok)
		}
		if seen[id] || seen[secret] {
			t.Fatalf("%s came twice", keyText(id, secret))
		}
		seen[id], seen[secret] = true, true
	}
}

func FuzzSplitKey(f *testing.F) {
	f.Add("")
	f.Add(keyText(testID, testSecret))
	for _, text := range malformed {
		f.Add(text)
	}
	f.Add(tokenText(testID, testSecret))
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, ok := splitKey(text)
		if !ok {
			if id+secret != "" {
				t.Errorf("%q is refused, and yet taken apart: %q, %q", text, id, secret)
			}
			return
		}
		again := keyText(id, secret)
		if bare, token := strings.CutPrefix(secret, ofToken("")); token {
			again, secret = tokenText(id, bare), bare
		}
		if again != text {
			t.Errorf("%q is put together again as %q", text, again)
		}
		if strings.ContainsAny(id+secret, "_{} \x00") {
			t.Errorf("%q passes for a key", text)
		}
	})
}

func TestMatches(t *testing.T) {
	sum := sha256.Sum256([]byte(testSecret))
	hash := hex.EncodeToString(sum[:])
	if hashSecret(testSecret) != hash {
		t.Errorf("the hash of the secret is %s, not its SHA-256 %s", hashSecret(testSecret), hash)
	}
	if !matches(hash, testSecret) {
		t.Error("a secret does not fit its own hash")
	}
	for name, c := range map[string][2]string{
		"another secret":    {hash, "B" + testSecret[1:]},
		"no hash":           {"", testSecret},
		"hash cut short":    {hash[:63], testSecret},
		"hash with more":    {hash + "0", testSecret},
		"hash in capitals":  {strings.ToUpper(hash), testSecret},
		"nothing, to zeros": {strings.Repeat("\x00", 64), ""},
	} {
		if matches(c[0], c[1]) {
			t.Errorf("%s: accepted", name)
		}
	}
}
