package webhook

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The first vector is TestWebhookSign of the specification's own Go library,
// libraries/go/webhook_test.go in github.com/standard-webhooks/standard-webhooks.
// The second was computed with openssl dgst -mac HMAC -macopt hexkey.
func TestSignStandard(t *testing.T) {
	for _, tt := range []struct {
		name, secret, id string
		timestamp        int64
		body, want       string
	}{
		{
			"published vector", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek",
			1614265330, `{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		},
		{"ours", testSecret, "evt_01", testTime, testBody, "v1,Idh8IGCdlJwDmJAHzpURZPnUhlZ8TgM/yyz4IaIUyjU="},
		{"no prefix", testSecret[6:], "evt_01", testTime, testBody, ""},
		{"not base64", "whsec_not*base64*at*all", "evt_01", testTime, testBody, ""},
		{"base64 without its padding", "whsec_AAAAAAAAAAAAAAAAAA", "evt_01", testTime, testBody, ""},
		{"nothing after the prefix", "whsec_", "evt_01", testTime, testBody, ""},
		{"full stop in the id", testSecret, "evt.01", testTime, testBody, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := SignStandard(tt.secret, tt.id, tt.timestamp, []byte(tt.body)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The headers, secret and body of the published vector are accepted, and
// whatever differs from them is not.
func TestVerifyStandard(t *testing.T) {
	const (
		secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		body   = `{"test": 2432232314}`
		good   = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
		other  = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	)
	sent := time.Unix(1614265330, 0)
	for _, tt := range []struct {
		name   string
		change func(h http.Header)
		secret string
		body   string
		now    time.Time
		want   error
	}{
		{name: "as published"},
		{name: "300 s old", now: sent.Add(300 * time.Second)},
		{name: "300 s ahead", now: sent.Add(-300 * time.Second)},
		{name: "301 s old", now: sent.Add(301 * time.Second), want: ErrExpired},
		{name: "301 s ahead", now: sent.Add(-301 * time.Second), want: ErrExpired},
		{name: "among others", change: set("signature", other+" v1a,abc "+good+" v2,"+good[3:])},
		{name: "only others", change: set("signature", other+" "+other), want: ErrMismatch},
		{name: "another secret", secret: testSecret, want: ErrMismatch},
		{name: "another body", body: body + " ", want: ErrMismatch},
		{name: "another id", change: set("id", "msg_1"), want: ErrMismatch},
		{name: "another time", change: set("timestamp", "1614265331"), want: ErrMismatch},
		{name: "the time spelled otherwise", change: set("timestamp", "01614265330"), want: ErrMismatch},
		{name: "a shifted full stop", change: set("id", "msg_p5jXN8AQM9LWM0D4loKWxJek.1"), want: ErrMalformed},
		{name: "no id", change: set("id", ""), want: ErrMalformed},
		{name: "an endless id", change: set("id", strings.Repeat("a", 257)), want: ErrMalformed},
		{name: "no time", change: set("timestamp", ""), want: ErrMalformed},
		{name: "a negative time", change: set("timestamp", "-1614265330"), want: ErrMalformed},
		{name: "no signature", change: set("signature", " "), want: ErrNoSignature},
		{name: "no v1", change: set("signature", "v1a,"+good[3:]), want: ErrNoSignature},
		{name: "no version", change: set("signature", good[3:]), want: ErrMalformed},
		{name: "cut off", change: set("signature", good[:8]), want: ErrMalformed},
		{name: "not base64", change: set("signature", "v1,*"+good[4:]), want: ErrMalformed},
		{name: "base64 with loose ends", change: set("signature", strings.Replace(good, "E=", "F=", 1)), want: ErrMalformed},
		{name: "endless", change: set("signature", strings.Repeat(good+" ", 30)), want: ErrMalformed},
		{name: "a secret of another form", secret: "sixteen-chars-ok", want: ErrNotStandard},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			set("id", "msg_p5jXN8AQM9LWM0D4loKWxJek")(h)
			set("timestamp", "1614265330")(h)
			set("signature", good)(h)
			if tt.change != nil {
				tt.change(h)
			}
			if tt.secret == "" {
				tt.secret = secret
			}
			if tt.body == "" {
				tt.body = body
			}
			if tt.now.IsZero() {
				tt.now = sent
			}
			if err := VerifyStandard(tt.secret, h, []byte(tt.body), tt.now); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func set(name, value string) func(http.Header) {
	return func(h http.Header) { h.Set("webhook-"+name, value) }
}

// What SignStandard makes is accepted, and no other list of signatures makes
// VerifyStandard panic or accept.
func FuzzVerifyStandard(f *testing.F) {
	f.Add("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1a,x", "evt_01", int64(1614265330))
	f.Add("v1,", "", int64(-1))
	f.Add(" , v1", "a.b", int64(0))
	f.Fuzz(func(t *testing.T, list, id string, at int64) {
		h := http.Header{}
		set("id", id)(h)
		set("timestamp", "1614265330")(h)
		set("signature", list)(h)
		right := SignStandard(testSecret, id, 1614265330, []byte(testBody))
		if VerifyStandard(testSecret, h, []byte(testBody), time.Unix(at, 0)) == nil && (right == "" || !strings.Contains(list, right[3:])) {
			t.Fatal("accepted without the right signature in it")
		}
		if right != "" && id != "" && len(id) <= maxID {
			set("signature", right)(h)
			if err := VerifyStandard(testSecret, h, []byte(testBody), time.Unix(1614265330, 0)); err != nil {
				t.Fatalf("our own signature: %v", err)
			}
		}
	})
}
