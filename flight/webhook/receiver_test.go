package webhook

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rawReceiver is a receiver that decides about every byte of its answers.
type rawReceiver struct {
	url         string
	addr        netip.AddrPort
	connections atomic.Int32
}

// newRawReceiver serves each connection with handle, which gets what reads from
// it and closes it by returning.
func newRawReceiver(t testing.TB, handle func(c *net.TCPConn, r *bufio.Reader)) *rawReceiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rr := &rawReceiver{url: "http://" + l.Addr().String() + "/hook?token=urlsecret", addr: l.Addr().(*net.TCPAddr).AddrPort()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			rr.connections.Add(1)
			wg.Go(func() {
				defer c.Close()
				handle(c.(*net.TCPConn), bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return rr
}

// answering reads one request and writes answer, then closes.
func answering(answer string) func(*net.TCPConn, *bufio.Reader) {
	return func(c *net.TCPConn, r *bufio.Reader) {
		readRequest(r)
		io.WriteString(c, answer)
	}
}

func readRequest(r *bufio.Reader) {
	if req, err := http.ReadRequest(r); err == nil {
		io.Copy(io.Discard, req.Body)
	}
}

// untilClosed waits for the sender to close the connection.
func untilClosed(r *bufio.Reader) { io.Copy(io.Discard, r) }

func testRequest(url string) Request {
	return Request{
		URL: url, Secret: testSecret, EventID: "evt_01", EventType: "flight.updated",
		SubscriptionID: "sub_01", Attempt: 1, Body: []byte(testBody), Now: time.Unix(testTime, 0),
	}
}

func newTestSender(t testing.TB, c Config) *Sender {
	t.Helper()
	s := NewSender(c)
	t.Cleanup(s.Close)
	return s
}

// fakeDNS is a resolver whose names have the addresses it is given; each look-up
// of a name takes the next list, and the last one stays.
type fakeDNS struct {
	mu    sync.Mutex
	names map[string][][]string
}

func (f *fakeDNS) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go f.serve(theirs)
		return ours, nil
	}}
}

// serve answers queries in the stream form of the DNS (RFC 1035, 4.2.2).
func (f *fakeDNS) serve(c net.Conn) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		answer := f.answer(query)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func (f *fakeDNS) answer(query []byte) []byte {
	var labels []string
	at := 12
	for query[at] != 0 {
		n := int(query[at])
		labels = append(labels, string(query[at+1:at+1+n]))
		at += 1 + n
	}
	question := query[12 : at+5]
	name, qtype := strings.Join(labels, "."), binary.BigEndian.Uint16(query[at+1:])

	addrs, known := f.take(name, qtype)
	flags, count := uint16(0x8180), uint16(0)
	if !known {
		flags |= 3 // NXDOMAIN
	}
	var records []byte
	for _, a := range addrs {
		ip := netip.MustParseAddr(a)
		if (qtype == 1) != ip.Is4() {
			continue
		}
		count++
		records = append(records, 0xc0, 12)
		records = binary.BigEndian.AppendUint16(records, qtype)
		records = append(records, 0, 1, 0, 0, 0, 0)
		records = binary.BigEndian.AppendUint16(records, uint16(ip.BitLen()/8))
		records = append(records, ip.AsSlice()...)
	}
	out := slices.Clone(query[:2])
	for _, v := range []uint16{flags, 1, count, 0, 0} {
		out = binary.BigEndian.AppendUint16(out, v)
	}
	return slices.Concat(out, question, records)
}

// take moves on to a name's next list with its A query: each look-up asks both.
func (f *fakeDNS) take(name string, qtype uint16) ([]string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lists, ok := f.names[name]
	if !ok {
		return nil, false
	}
	if qtype == 1 && len(lists) > 1 {
		f.names[name] = lists[1:]
	}
	return lists[0], true
}
