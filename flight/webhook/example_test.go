package webhook_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/flightwire/flightwire/flight/webhook"
)

// A receiver: it reads the raw body with a bound, verifies it before it parses
// anything, answers at once, and does its work afterwards. Deliveries can come
// twice and out of order: the id in the body tells the same event again.
func Example() {
	const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" // from your configuration

	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "cannot read the body", http.StatusBadRequest)
			return
		}
		err = webhook.Verify(secret, r.Header.Get("x-service-signature"), body, time.Now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		// Here: put the body on a queue of your own, unless its id is known.
		w.WriteHeader(http.StatusNoContent)
	})

	// What the service does.
	body := `{"id":"evt_01","type":"flight.updated"}`
	deliver := func(body, signature string) {
		r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(body))
		r.Header.Set("x-service-signature", signature)
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, r)
		fmt.Println(strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Body)))
	}
	signature := webhook.Sign(secret, time.Now().Unix(), []byte(body))
	deliver(body, signature)
	deliver(body+" ", signature)
	deliver(body, "")
	// Output:
	// 204
	// 401 webhook: signature does not match
	// 401 webhook: no signature
}

func ExampleVerify() {
	const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	body := []byte(`{"id":"evt_01"}`)
	sent := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	header := webhook.Sign(secret, sent.Unix(), body)

	fmt.Println(webhook.Verify(secret, header, body, sent.Add(2*time.Second)))
	err := webhook.Verify(secret, header, body, sent.Add(time.Hour))
	fmt.Println(errors.Is(err, webhook.ErrExpired))
	// Output:
	// <nil>
	// true
}

// A receiver that goes by the headers of Standard Webhooks.
func ExampleVerifyStandard() {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body := []byte(`{"test": 2432232314}`)
	header := http.Header{}
	header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")

	fmt.Println(webhook.VerifyStandard(secret, header, body, time.Unix(1614265330, 0)))
	fmt.Println(webhook.VerifyStandard(secret, header, body, time.Unix(1614269999, 0)))
	// Output:
	// <nil>
	// webhook: signature timestamp outside the tolerance
}
