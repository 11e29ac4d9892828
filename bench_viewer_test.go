package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// benchViewer is a live subscription on a websocket of its own, by a client
// that costs next to nothing.
type benchViewer struct {
	conn net.Conn
	in   *bufio.Reader

	mu   sync.Mutex
	last []byte        // message
	at   time.Time     // when it came
	err  error         // by which it ended
	news chan struct{} // one slot: there is another message
}

// newBenchViewer subscribes and waits for the first message.
func newBenchViewer(base, key, query string, variables map[string]any) (*benchViewer, error) {
	host := strings.TrimPrefix(base, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	v := &benchViewer{conn: conn, in: bufio.NewReaderSize(conn, 1<<10), news: make(chan struct{}, 1)}
	_, err = fmt.Fprintf(conn, "GET /graphql HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n", host, key)
	if err == nil {
		err = v.handshake()
	}
	if err == nil {
		err = v.send(0x1, []byte(`{"type":"connection_init"}`))
	}
	if err == nil {
		_, err = v.next(`"connection_ack"`)
	}
	if err == nil {
		payload, _ := json.Marshal(map[string]any{"id": "1", "type": "subscribe", "payload": map[string]any{"query": query, "variables": variables}})
		err = v.send(0x1, payload)
	}
	if err == nil {
		_, err = v.next(`"changes":[]`)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	go v.follow()
	return v, nil
}

// handshake reads the answer to the upgrade.
func (v *benchViewer) handshake() error {
	first := ""
	for {
		line, err := v.in.ReadString('\n')
		if err != nil {
			return err
		}
		if first == "" {
			first = line
		}
		if line == "\r\n" {
			break
		}
	}
	if !strings.HasPrefix(first, "HTTP/1.1 101 ") {
		return errors.New(first)
	}
	return nil
}

// send writes a frame, masked with zeros.
func (v *benchViewer) send(opcode byte, payload []byte) error {
	frame := []byte{0x80 | opcode}
	if n := len(payload); n < 126 {
		frame = append(frame, 0x80|byte(n))
	} else {
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	}
	_, err := v.conn.Write(append(append(frame, 0, 0, 0, 0), payload...))
	return err
}

// receive reads a message and answers pings.
func (v *benchViewer) receive() ([]byte, error) {
	for {
		var head [2]byte
		if _, err := io.ReadFull(v.in, head[:]); err != nil {
			return nil, err
		}
		n := uint64(head[1])
		if n == 126 {
			var size [2]byte
			if _, err := io.ReadFull(v.in, size[:]); err != nil {
				return nil, err
			}
			n = uint64(binary.BigEndian.Uint16(size[:]))
		}
		if n > 64<<10 {
			return nil, errors.New("a frame of more than 64 KiB")
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(v.in, payload); err != nil {
			return nil, err
		}
		switch head[0] & 0xf {
		case 0x1:
			return payload, nil
		case 0x8:
			return nil, fmt.Errorf("closed: %q", payload)
		case 0x9:
			if err := v.send(0xa, payload); err != nil {
				return nil, err
			}
		}
	}
}

// next reads a message that has a text in it.
func (v *benchViewer) next(text string) ([]byte, error) {
	got, err := v.receive()
	if err == nil && !bytes.Contains(got, []byte(text)) {
		err = fmt.Errorf("no %s in %s", text, got)
	}
	return got, err
}

func (v *benchViewer) follow() {
	for {
		message, err := v.receive()
		v.mu.Lock()
		v.last, v.at, v.err = message, time.Now(), err
		v.mu.Unlock()
		select {
		case v.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// heard waits for the message that tells of a gate, and returns when it came.
func (v *benchViewer) heard(t *testing.T, gate string) time.Time {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for {
		v.mu.Lock()
		last, at, err := v.last, v.at, v.err
		v.mu.Unlock()
		if bytes.Contains(last, []byte(`"to":"`+gate+`"`)) {
			return at
		}
		if err != nil {
			t.Errorf("a viewer has ended: %v", err)
			return time.Now()
		}
		select {
		case <-v.news:
		case <-deadline.C:
			t.Errorf("a viewer has not heard of gate %s; the last was %s", gate, last)
			return time.Now()
		}
	}
}
