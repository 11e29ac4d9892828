package webhook

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

const (
	testSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	testBody   = `{"id":"evt_01","type":"flight.updated"}`
	testTime   = int64(1767225600) // 2026-01-01T00:00:00Z
)

// The expected values were computed with openssl dgst -hmac.
func TestSign(t *testing.T) {
	for _, tt := range []struct{ name, secret, body, want string }{
		{"generated secret", testSecret, testBody, "t=1767225600,v1=ec8fc9fb0e9cb48ae93a2d10302716e930fe00c81d1411a2eadc644f17a8fa24"},
		{"client's secret, empty body", "sixteen-chars-ok", "", "t=1767225600,v1=19d7e6c7d72afb53b506d11031af38510257ecdc995b747613e1fa7fc167ee81"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Sign(tt.secret, testTime, []byte(tt.body)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	now := time.Unix(testTime, 0)
	good := Sign(testSecret, testTime, []byte(testBody))
	v1 := good[strings.Index(good, ",")+1:]
	other := Sign("another-secret-than-that", testTime, []byte(testBody))
	otherV1 := other[strings.Index(other, ",")+1:]
	for _, tt := range []struct {
		name, header, body string
		now                time.Time
		want               error
	}{
		{"right", good, testBody, now, nil},
		{"spaces after commas", "t=1767225600, " + v1, testBody, now, nil},
		{"v1 before t", v1 + ",t=1767225600", testBody, now, nil},
		{"upper-case hex", "t=1767225600,v1=" + strings.ToUpper(v1[3:]), testBody, now, nil},
		{"second of two v1 right", "t=1767225600," + otherV1 + "," + v1, testBody, now, nil},
		{"first of two v1 right", "t=1767225600," + v1 + "," + otherV1, testBody, now, nil},
		{"another scheme beside it", "t=1767225600,v0=abc,v2=def," + v1, testBody, now, nil},
		{"300 s old", good, testBody, now.Add(300 * time.Second), nil},
		{"300 s ahead", good, testBody, now.Add(-300 * time.Second), nil},
		{"301 s old", good, testBody, now.Add(301 * time.Second), ErrExpired},
		{"301 s ahead", good, testBody, now.Add(-301 * time.Second), ErrExpired},
		{"far future", "t=999999999999," + v1, testBody, now, ErrExpired},
		{"other secret", other, testBody, now, ErrMismatch},
		{"body changed", good, testBody + " ", now, ErrMismatch},
		{"timestamp changed", "t=1767225601," + v1, testBody, now, ErrMismatch},
		{"timestamp spelled otherwise", "t=01767225600," + v1, testBody, now, ErrMismatch},
		{"empty", "", testBody, now, ErrNoSignature},
		{"blank", " \t", testBody, now, ErrNoSignature},
		{"no v1", "t=1767225600", testBody, now, ErrNoSignature},
		{"only v0", "t=1767225600,v0=" + v1[3:], testBody, now, ErrNoSignature},
		{"no t", v1, testBody, now, ErrMalformed},
		{"two t", "t=1767225600," + good, testBody, now, ErrMalformed},
		{"t empty", "t=," + v1, testBody, now, ErrMalformed},
		{"t negative", "t=-1767225600," + v1, testBody, now, ErrMalformed},
		{"t too long", "t=1767225600000," + v1, testBody, now, ErrMalformed},
		{"t in hex", "t=0x69," + v1, testBody, now, ErrMalformed},
		{"v1 short", good[:len(good)-1], testBody, now, ErrMalformed},
		{"v1 not hex", good[:len(good)-1] + "g", testBody, now, ErrMalformed},
		{"a part without =", good + ",", testBody, now, ErrMalformed},
		{"too long", good + ",x=" + strings.Repeat("y", 1024), testBody, now, ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := Verify(testSecret, tt.header, []byte(tt.body), tt.now); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestGenerateSecret(t *testing.T) {
	a, b := GenerateSecret(), GenerateSecret()
	if a == b {
		t.Errorf("two secrets are the same: %s", a)
	}
	if err := CheckSecret(a); err != nil {
		t.Errorf("%s: %v", a, err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(a, "whsec_"))
	if err != nil || len(key) != 32 || !strings.HasPrefix(a, "whsec_") {
		t.Errorf("%s is not whsec_ and 32 bytes in base64 (%d bytes, %v)", a, len(key), err)
	}
}

func TestMaskSecret(t *testing.T) {
	for secret, want := range map[string]string{
		testSecret:         "whsec_****b7oD",
		"sixteen-chars-ok": "whsec_****s-ok",
		"short":            "whsec_****",
		"":                 "whsec_****",
	} {
		if got := MaskSecret(secret); got != want {
			t.Errorf("MaskSecret(%q) = %q, want %q", secret, got, want)
		}
	}
}

func TestCheckSecret(t *testing.T) {
	for _, tt := range []struct {
		name, secret string
		ok           bool
	}{
		{"15", strings.Repeat("a", 15), false},
		{"16", strings.Repeat("a", 16), true},
		{"256", strings.Repeat("a", 256), true},
		{"257", strings.Repeat("a", 257), false},
		{"every printable", " !\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~", true},
		{"line feed", "sixteen-chars-ok\n", false},
		{"NUL", "sixteen-chars-ok\x00", false},
		{"DEL", "sixteen-chars-ok\x7f", false},
		{"not ASCII", "sixteen-chars-ök", false},
		{"empty", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckSecret(tt.secret)
			if (err == nil) != tt.ok {
				t.Fatalf("got %v", err)
			}
			if err != nil && tt.secret != "" && strings.Contains(err.Error(), tt.secret) {
				t.Errorf("the error repeats the secret: %v", err)
			}
		})
	}
}

// FuzzVerify: no header makes the parser panic or take what it should not, and
// what is taken apart can be put together again to the same verdict.
func FuzzVerify(f *testing.F) {
	f.Add(Sign(testSecret, testTime, []byte(testBody)), testTime)
	f.Add("t=1767225600,v0=a,v1=", testTime)
	f.Add("t=,v1=,,", int64(0))
	f.Add("t=999999999999,v1="+strings.Repeat("0", 64), int64(-1))
	f.Fuzz(func(t *testing.T, header string, at int64) {
		err := Verify(testSecret, header, []byte(testBody), time.Unix(at, 0))
		sig, parseErr := parseSignature(header)
		_, right, _ := strings.Cut(Sign(testSecret, sig.timestamp, []byte(testBody)), ",v1=")
		switch {
		case parseErr != nil:
			if !errors.Is(err, parseErr) {
				t.Fatalf("Verify says %v, the parser %v", err, parseErr)
			}
		case sig.timestamp < 0 || sig.signed == "" || len(sig.v1) == 0:
			t.Fatalf("taken apart to %+v", sig)
		case err == nil && !strings.Contains(strings.ToLower(header), right):
			t.Fatal("accepted without the right signature in it")
		}
		if at >= 0 && at < 1e12 {
			if err := Verify(testSecret, Sign(testSecret, at, []byte(header)), []byte(header), time.Unix(at, 0)); err != nil {
				t.Fatalf("our own signature: %v", err)
			}
		}
	})
}
