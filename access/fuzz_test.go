package access

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// What is taken from the headers is a part of one of them, and x-api-key goes
// first.
func FuzzPresented(f *testing.F) {
	f.Add("", "Bearer "+keyText(testID, testSecret))
	f.Add(keyText(testID, testSecret), "Bearer x")
	f.Add(" ", "bearer\tx")
	f.Add("", "Bearer")
	f.Add("", "BEARER  a b ")
	f.Add("\x00", "Basic YTpi")
	f.Fuzz(func(t *testing.T, key, authorization string) {
		r := http.Request{Header: http.Header{"X-Api-Key": {key}, "Authorization": {authorization}}}
		got := Presented(&r)
		switch {
		case key != "" && got != key:
			t.Errorf("%q is presented as %q", key, got)
		case key == "" && (!strings.HasSuffix(strings.TrimSpace(authorization), got) || strings.TrimSpace(got) != got):
			t.Errorf("%q is presented as %q", authorization, got)
		case key == "" && got != "" && !strings.EqualFold(authorization[:7], "bearer "):
			t.Errorf("%q presents %q", authorization, got)
		}
	})
}

// A plan file that is taken gives whole plans, the built-in ones among them, and
// the same when it is read again.
func FuzzPlans(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"free": {"minute": 20}}`, `{"partner": {"minute": 600, "day": null, "month": null, "watchedFlights": 100, "liveLegs": null}}`,
		`{"free": {"minute": 0}}`, `{"free": {"minute": 1.5}}`, `{"free": {"minute": 1e3}}`, `{"": {}}`, `{"free": null}`, `{"free": {"minut": 1}}`, `null`, `[]`, `{}{}`, `{"free":{"minute":99999999999999999999}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plans, err := parsePlans(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("more than one line: %q", err)
			}
			return
		}
		if again, err := parsePlans(text); err != nil || !reflect.DeepEqual(again, plans) {
			t.Errorf("%+v, and then %+v, %v", plans, again, err)
		}
		if len(plans) < len(builtIn) || len(plans) > maxPlans {
			t.Errorf("%d plans", len(plans))
		}
		for i, p := range plans {
			if i < len(builtIn) && p.Name != builtIn[i].Name {
				t.Errorf("plan %d is %s", i, p.Name)
			}
			for _, n := range []int64{p.Requests[0], p.Requests[1], p.Requests[2]} {
				if n != NoLimit && (n < 1 || n > maxPlanLimit) {
					t.Errorf("%s: a window of %d", p.Name, n)
				}
			}
		}
	})
}
