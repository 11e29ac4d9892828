package webhook

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	long := "https://example.com/" + strings.Repeat("a", MaxURL-len("https://example.com/"))
	for _, tt := range []struct {
		url           string
		public, local bool // accepted without and with allowPrivate
	}{
		{"https://example.com/hook", true, true},
		{"http://example.com", true, true},
		{"HTTPS://EXAMPLE.com./x?token=a%20b", true, true},
		{"https://example.com:8443/hook", true, true},
		{"https://my_hook.xn--bcher-kva.example/", true, true},
		{"http://8.8.8.8/", true, true},
		{"http://[2606:4700:4700::1111]:8080/", true, true},
		{"https://0x7f.example/", true, true}, // a label, not an address
		{long, true, true},

		{long + "a", false, false},
		{"", false, false},
		{"/hook", false, false},
		{"example.com/hook", false, false},
		{"//example.com/hook", false, false},
		{"ftp://example.com/", false, false},
		{"javascript:alert(1)", false, false},
		{"http:example.com", false, false},
		{"http://", false, false},
		{"http://:80/", false, false},
		{"https://user:pw@example.com/", false, false},
		{"https://user@example.com/", false, false},
		{"https://@example.com/", false, false},
		{"https://example.com/#top", false, false},
		{"https://example.com/#", false, false},
		{"https://example.com:0/", false, false},
		{"https://example.com:65536/", false, false},
		{"https://example.com:http/", false, false},
		{"https://exa mple.com/", false, false},
		{"https://example.com/a b\r\nx: y", false, false},
		{"https://ex!ample.com/", false, false},
		{"https://a..b/", false, false},
		{"https://" + strings.Repeat("a", 64) + ".example/", false, false},
		{"https://" + strings.Repeat("abcdefg.", 32) + "example/", false, false},
		{"https://bücher.example/", false, false},
		{"http://ⓛocalhost/", false, false},
		{"http://127。0。0。1/", false, false},

		{"http://localhost/", false, true},
		{"http://LocalHost.:8080/", false, true},
		{"http://api.localhost/", false, true},
		{"http://localhost.localdomain/", false, true},
		{"http://metadata.google.internal/computeMetadata/v1/", false, true},
		{"http://127.0.0.1:8080/", false, true},
		{"http://127.255.255.254/", false, true},
		{"http://0.0.0.0/", false, true},
		{"http://10.1.2.3/", false, true},
		{"http://172.16.0.1/", false, true},
		{"http://192.168.1.1/", false, true},
		{"http://100.64.0.1/", false, true},      // carrier-grade NAT
		{"http://100.100.100.200/", false, true}, // metadata, Alibaba
		{"http://169.254.169.254/", false, true}, // metadata, most
		{"http://168.63.129.16/", false, true},   // metadata, Azure
		{"http://192.0.0.192/", false, true},     // metadata, Oracle
		{"http://198.18.0.1/", false, true},
		{"http://224.0.0.1/", false, true},
		{"http://255.255.255.255/", false, true},
		{"http://[::]/", false, true},
		{"http://[::1]:8080/", false, true},
		{"http://[fe80::1]/", false, true},
		{"http://[fd00:ec2::254]/", false, true}, // metadata, AWS
		{"http://[ff02::1]/", false, true},
		{"http://[::ffff:127.0.0.1]/", false, true},
		{"http://[::ffff:8.8.8.8]/", false, true},
		{"http://[::127.0.0.1]/", false, true},
		{"http://[64:ff9b::7f00:1]/", false, true},
		{"http://[64:ff9b:1::7f00:1]/", false, true},
		{"http://[2002:7f00:1::]/", false, true}, // 6to4
		{"http://[2001:0:7f00:1::]/", false, true},
		{"http://[2001:db8::1]/", false, true},
		{"http://[fe80::1%25eth0]/", false, false},

		{"http://2130706433/", false, false},
		{"http://017700000001/", false, false},
		{"http://0x7f000001/", false, false},
		{"http://0x7f.1/", false, false},
		{"http://0x/", false, false},
		{"http://127.1/", false, false},
		{"http://127.0.1/", false, false},
		{"http://0177.0.0.1/", false, false},
		{"http://010.0.0.1/", false, false},
		{"http://127.0.0.1./", false, false},
		{"http://127.0.0.256/", false, false},
		{"http://%31%32%37.0.0.1/", false, false},
	} {
		t.Run(tt.url[:min(len(tt.url), 50)], func(t *testing.T) {
			if err := CheckURL(tt.url, false); (err == nil) != tt.public {
				t.Errorf("public only: %v", err)
			}
			if err := CheckURL(tt.url, true); (err == nil) != tt.local {
				t.Errorf("private allowed: %v", err)
			}
		})
	}
}

func TestCheckHeaders(t *testing.T) {
	const (
		name     = "is not a valid header name"
		ours     = "is set by the service and cannot be chosen"
		twice    = "is there twice: header names do not depend on case"
		value    = "must be text without control characters"
		tooMany  = "must not be more than 20"
		tooLarge = "must not exceed 4096 bytes in all, names and values together"
	)
	twenty := map[string]string{}
	for i := range 20 {
		twenty[fmt.Sprintf("x-%02d", i)] = "v"
	}
	more := maps.Clone(twenty)
	more["bad name"] = "v"
	for _, tt := range []struct {
		name    string
		headers map[string]string
		want    []Fault
	}{
		{"none", nil, nil},
		{"usual", map[string]string{"Authorization": "Bearer abc", "X-Tenant": "Zürich", "Idempotency-Key": "", "x-legacyx": "ok"}, nil},
		{"twenty", twenty, nil},
		{"more than twenty, and one bad", more, []Fault{{"", tooMany}, {"bad name", name}}},
		{"4096 bytes", map[string]string{"abcd": strings.Repeat("v", 4092)}, nil},
		{"4097 bytes", map[string]string{"abcd": strings.Repeat("v", 4093)}, []Fault{{"", tooLarge}}},
		{"every fault is told", map[string]string{"": "a", "a:b": "a", "é": "a", "ok": "a"}, []Fault{{"", name}, {"a:b", name}, {"é", name}}},
		{"injection in a name", map[string]string{"x\r\nhost": "a"}, []Fault{{"x\r\nhost", name}}},
		{"control characters", map[string]string{
			"a": "b\r\nhost: evil", "b": "b\n", "c": "\x00", "d": "a\tb", "e": "\x7f", "f": "\u0085", "g": "\xff",
		}, []Fault{{"a", value}, {"b", value}, {"c", value}, {"d", value}, {"e", value}, {"f", value}, {"g", value}}},
		{"case twins", map[string]string{"X-Team": "a", "x-team": "b"}, []Fault{{"x-team", twice}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := CheckHeaders(tt.headers, "legacy"); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	for _, reserved := range []string{
		"x-service-event-id", "X-Service-Anything", "X-LEGACY-signature", "Webhook-Id", "webhook-signature",
		"Content-Type", "content-length", "Content-Encoding", "HOST", "User-Agent", "Connection", "Keep-Alive",
		"Proxy-Authorization", "proxy-connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "HTTP2-Settings",
	} {
		if got, want := CheckHeaders(map[string]string{reserved: "a"}, "Legacy"), []Fault{{reserved, ours}}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q", reserved, got)
		}
	}
	if got := CheckHeaders(map[string]string{"x-legacy-id": "a", "x--": "b"}, ""); got != nil {
		t.Errorf("without a legacy prefix: %q", got)
	}
}

func TestCheckLegacyPrefix(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": true, "legacy": true, "acme-2": true, "service": false, "Legacy": false,
		"a b": false, "a:b": false, "a\r\nb": false, strings.Repeat("a", 65): false,
	} {
		if err := CheckLegacyPrefix(prefix); (err == nil) != ok {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
