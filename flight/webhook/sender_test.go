package webhook

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"code.dny.dev/ssrf"
)

// TestDeliveryBytes fixes every byte of a delivery on HTTP/1.1.
func TestDeliveryBytes(t *testing.T) {
	got := make(chan []byte, 1)
	rr := newRawReceiver(t, func(c *net.TCPConn, r *bufio.Reader) {
		var raw bytes.Buffer
		readRequest(bufio.NewReader(io.TeeReader(r, &raw)))
		got <- raw.Bytes()
		io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	dns := &fakeDNS{names: map[string][][]string{"receiver.example": {{"127.0.0.1"}}}}
	s := newTestSender(t, Config{AllowPrivate: true, LegacyPrefix: "legacy", resolver: dns.resolver()})
	r := testRequest(fmt.Sprintf("http://receiver.example:%d/hook?a=b", rr.addr.Port()))
	r.Attempt = 3
	r.Headers = map[string]string{
		"Authorization": "Bearer abc", "x-Tenant": "Zürich",
		// Reserved: stored before the prefix was changed. Ours stand.
		"X-Legacy-Event-Id": "forged", "content-length": "1", "User-Agent": "forged", "Host": "forged",
	}
	if res := s.Send(t.Context(), r); res.Outcome != Delivered || res.StatusCode != 204 || res.ErrorClass != "" || res.Error != "" {
		t.Fatalf("%+v", res)
	}
	raw := bytes.ReplaceAll(<-got, fmt.Appendf(nil, ":%d\r\n", rr.addr.Port()), []byte(":PORT\r\n"))
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	want, err := os.ReadFile("testdata/delivery.golden")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, want) {
		t.Errorf("got\n%s\nwant\n%s", raw, want)
	}
}

// TestStandardHeadersLeftOut: a client's secret of another form, and no legacy
// prefix.
func TestStandardHeadersLeftOut(t *testing.T) {
	headers := make(chan http.Header, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header }))
	defer srv.Close()
	s := newTestSender(t, Config{AllowPrivate: true, UserAgent: "other/2"})
	r := testRequest(srv.URL)
	r.Secret = "sixteen-chars-ok"
	if res := s.Send(t.Context(), r); res.Outcome != Delivered {
		t.Fatalf("%+v", res)
	}
	h := <-headers
	if got := h.Get("x-service-signature"); got != Sign(r.Secret, testTime, r.Body) {
		t.Errorf("signature %q", got)
	}
	if got := h.Get("User-Agent"); got != "other/2" {
		t.Errorf("user-agent %q", got)
	}
	for name := range h {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "webhook-") || strings.HasPrefix(lower, "x-") && !strings.HasPrefix(lower, "x-service-") {
			t.Errorf("%s was sent", name)
		}
	}
}

// TestNowDefault: without Now the delivery is signed with the present time.
func TestNowDefault(t *testing.T) {
	verdict := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		verdict <- Verify(testSecret, r.Header.Get("x-service-signature"), body, time.Now())
	}))
	defer srv.Close()
	r := testRequest(srv.URL)
	r.Now = time.Time{}
	newTestSender(t, Config{AllowPrivate: true}).Send(t.Context(), r)
	if err := <-verdict; err != nil {
		t.Error(err)
	}
}

func TestUnsendable(t *testing.T) {
	rr := newRawReceiver(t, answering("HTTP/1.1 204 No Content\r\n\r\n"))
	s := newTestSender(t, Config{AllowPrivate: true})
	for _, tt := range []struct {
		name   string
		change func(*Request)
		class  string
	}{
		{"no URL", func(r *Request) { r.URL = "" }, ClassInvalidURL},
		{"scheme", func(r *Request) { r.URL = "ftp://127.0.0.1/" }, ClassInvalidURL},
		{"credentials", func(r *Request) { r.URL = strings.Replace(r.URL, "http://", "http://u:p@", 1) }, ClassInvalidURL},
		{"line break in the URL", func(r *Request) { r.URL += "\r\nx: y" }, ClassInvalidURL},
		{"line break in a value", func(r *Request) { r.Headers = map[string]string{"x-a": "b\r\nhost: evil"} }, ClassInvalidHeader},
		{"line break in a name", func(r *Request) { r.Headers = map[string]string{"x-a: b\r\nhost": "evil"} }, ClassInvalidHeader},
		{"line break in the event's id", func(r *Request) { r.EventID = "evt\nx: y" }, ClassInvalidHeader},
		{"line break in the type", func(r *Request) { r.EventType = "a\rb" }, ClassInvalidHeader},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testRequest(rr.url)
			tt.change(&r)
			res := s.Send(t.Context(), r)
			if res.ErrorClass != tt.class || res.Outcome != Rejected || res.Error == "" {
				t.Errorf("%+v", res)
			}
		})
	}
	if n := rr.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestConnectionReuse(t *testing.T) {
	for _, tt := range []struct {
		name string
		body int
		want int32
	}{
		{"empty", 0, 1},
		{"short", 100, 1},
		{"kept part exactly", MaxResponseBody, 1},
		{"within the drain", MaxResponseBody + maxDrain, 1},
		{"beyond the drain", MaxResponseBody + maxDrain + 1, 5},
	} {
		for _, framing := range []string{"length", "chunked"} {
			t.Run(tt.name+" "+framing, func(t *testing.T) {
				rr := newRawReceiver(t, func(c *net.TCPConn, r *bufio.Reader) {
					for {
						req, err := http.ReadRequest(r)
						if err != nil {
							return
						}
						io.Copy(io.Discard, req.Body)
						resp := http.Response{
							StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(tt.body),
							Body: io.NopCloser(strings.NewReader(strings.Repeat("b", tt.body))),
						}
						if framing == "chunked" {
							resp.ContentLength, resp.TransferEncoding = -1, []string{"chunked"}
						}
						if resp.Write(c) != nil {
							return
						}
					}
				})
				s := newTestSender(t, Config{AllowPrivate: true})
				for range 5 {
					res := s.Send(t.Context(), testRequest(rr.url))
					if res.Outcome != Delivered || len(res.ResponseBody) != min(tt.body, MaxResponseBody) {
						t.Fatalf("%+v", res)
					}
				}
				if n := rr.connections.Load(); n != tt.want {
					t.Errorf("%d connections, want %d", n, tt.want)
				}
				s.Close()
			})
		}
	}
}

func TestTLS(t *testing.T) {
	protos := make(chan string, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protos <- r.Proto
		io.WriteString(w, "ok")
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = discardLog
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())

	s := newTestSender(t, Config{AllowPrivate: true, RootCAs: roots})
	if res := s.Send(t.Context(), testRequest(srv.URL)); res.Outcome != Delivered || string(res.ResponseBody) != "ok" {
		t.Fatalf("known root: %+v", res)
	}
	if proto := <-protos; proto != "HTTP/2.0" {
		t.Errorf("spoke %s", proto)
	}
	unknown := newTestSender(t, Config{AllowPrivate: true})
	res := unknown.Send(t.Context(), testRequest(srv.URL))
	if res.ErrorClass != ClassTLS || res.Outcome != Retryable || !strings.Contains(res.Error, "unknown authority") {
		t.Errorf("unknown root: %+v", res)
	}
	dns := &fakeDNS{names: map[string][][]string{"other.test": {{"127.0.0.1"}}}}
	wrongName := newTestSender(t, Config{AllowPrivate: true, RootCAs: roots, resolver: dns.resolver()})
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	res = wrongName.Send(t.Context(), testRequest("https://other.test:"+port))
	if res.ErrorClass != ClassTLS || !strings.Contains(res.Error, "other.test") {
		t.Errorf("certificate of another name: %+v", res)
	}
}

func TestTLSFailures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle func(*net.TCPConn, *bufio.Reader)
		class  string
		text   string
	}{
		{"plain HTTP", func(c *net.TCPConn, r *bufio.Reader) {
			r.Peek(1)
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			untilClosed(r)
		}, ClassTLS, "did not speak TLS"},
		{"garbage", func(c *net.TCPConn, r *bufio.Reader) {
			r.Peek(1)
			io.WriteString(c, "220 mail.example ESMTP\r\n")
			untilClosed(r)
		}, ClassTLS, "did not speak TLS"},
		{"closes", func(c *net.TCPConn, r *bufio.Reader) { r.Peek(1) }, ClassTLS, "handshake"},
		{"hangs", func(c *net.TCPConn, r *bufio.Reader) { untilClosed(r) }, ClassTimeout, "TLS handshake"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rr := newRawReceiver(t, tt.handle)
			s := newTestSender(t, Config{AllowPrivate: true, Timeout: 2 * time.Second, TLSTimeout: 50 * time.Millisecond})
			res := s.Send(t.Context(), testRequest("https://"+rr.addr.String()))
			if res.ErrorClass != tt.class || res.Outcome != Retryable || !strings.Contains(res.Error, tt.text) {
				t.Errorf("%+v", res)
			}
		})
	}
}

// TestBlockedAddresses: names are checked after resolution, at every connect.
func TestBlockedAddresses(t *testing.T) {
	rr := newRawReceiver(t, answering("HTTP/1.1 204 No Content\r\n\r\n"))
	for _, addr := range []string{
		"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "168.63.129.16", "0.0.0.0", "224.0.0.1",
		"::1", "::", "fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "::7f00:1",
	} {
		t.Run(addr, func(t *testing.T) {
			dns := &fakeDNS{names: map[string][][]string{"hook.test": {{addr}}}}
			s := newTestSender(t, Config{resolver: dns.resolver()})
			for _, host := range []string{"hook.test", netip.MustParseAddr(addr).String()} {
				if strings.Contains(host, ":") {
					host = "[" + host + "]"
				}
				res := s.Send(t.Context(), testRequest(fmt.Sprintf("http://%s:%d/", host, rr.addr.Port())))
				if res.ErrorClass != ClassBlockedAddress || res.Outcome != Retryable {
					t.Errorf("%s: %+v", host, res)
				}
				if host == "hook.test" && strings.Contains(res.Error, addr) {
					t.Errorf("the error tells the address: %s", res.Error)
				}
			}
		})
	}
	if n := rr.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// TestRebinding: a name that was public for one delivery and is private for the
// next. 127.0.0.1 stands for the public address.
func TestRebinding(t *testing.T) {
	rr := newRawReceiver(t, answering("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"))
	dns := &fakeDNS{names: map[string][][]string{"hook.test": {{"127.0.0.1"}, {"127.0.0.2"}}}}
	s := newTestSender(t, Config{
		resolver: dns.resolver(),
		guard:    ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.1/32"))),
	})
	url := fmt.Sprintf("http://hook.test:%d/", rr.addr.Port())
	if res := s.Send(t.Context(), testRequest(url)); res.Outcome != Delivered {
		t.Fatalf("first: %+v", res)
	}
	if res := s.Send(t.Context(), testRequest(url)); res.ErrorClass != ClassBlockedAddress {
		t.Errorf("second: %+v", res)
	}
	if n := rr.connections.Load(); n != 1 {
		t.Errorf("%d connections were made", n)
	}
}

func TestUnknownName(t *testing.T) {
	s := newTestSender(t, Config{resolver: (&fakeDNS{}).resolver()})
	res := s.Send(t.Context(), testRequest("http://nowhere.test/hook"))
	if res.ErrorClass != ClassDNS || res.Outcome != Retryable || !strings.Contains(res.Error, "nowhere.test") {
		t.Errorf("%+v", res)
	}
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := newTestSender(t, Config{AllowPrivate: true})
	if res := s.Send(t.Context(), testRequest("http://"+l.Addr().String())); res.ErrorClass != ClassConnectionRefused || res.Outcome != Retryable {
		t.Errorf("%+v", res)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rr := newRawReceiver(t, func(c *net.TCPConn, r *bufio.Reader) {
		readRequest(r)
		cancel()
		untilClosed(r)
	})
	s := newTestSender(t, Config{AllowPrivate: true})
	if res := s.Send(ctx, testRequest(rr.url)); res.ErrorClass != ClassCanceled || res.Outcome != Retryable || res.StatusCode != 0 {
		t.Errorf("under way: %+v", res)
	}
	if res := s.Send(ctx, testRequest(rr.url)); res.ErrorClass != ClassCanceled {
		t.Errorf("before: %+v", res)
	}
	if n := rr.connections.Load(); n != 1 {
		t.Errorf("%d connections were made", n)
	}
}

// TestNoProxy: a proxy would connect in our place, to addresses unchecked.
func TestNoProxy(t *testing.T) {
	if newTestSender(t, Config{}).transport.Proxy != nil {
		t.Error("the sender takes a proxy from the environment")
	}
}
