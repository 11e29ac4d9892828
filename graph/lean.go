package graph

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
)

const (
	leanRead  = 512     // bytes: most messages of clients are shorter
	leanWrite = 1 << 10 // bytes: what is longer is written past the buffer
)

// lean hands a websocket its connection with small buffers. Those of HTTP are
// several times as large, and there may be very many sockets.
type lean struct{ http.ResponseWriter }

// Hijack implements http.Hijacker. What the client has sent already is in the
// reader's buffer.
func (l lean) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(l.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(bytes.NewReader(bytes.Clone(early)), max(leanRead, len(early)))
	if _, err := in.Peek(len(early)); err != nil {
		return nil, nil, err
	}
	return conn, bufio.NewReadWriter(in, bufio.NewWriterSize(conn, leanWrite)), nil
}
