package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/flight"
)

// The embedded database has one process. Keys commands reach it through a
// socket in the data folder, which only the folder's owner can open. They
// speak HTTP: GET /keys, POST /keys, POST /keys/{id}/rotate and …/revoke.

const socketName = "flightwire.sock"

// maxSocketPath is the shortest of what systems allow for such a path.
const maxSocketPath = 100

// keySocket is the process's end.
type keySocket struct {
	path string
	http *http.Server
}

// serveKeys opens the socket. The database's lock on the folder says that no
// living process has it, so what lies there is of a dead one.
func serveKeys(dir string, keys keyStore) (*keySocket, error) {
	path := filepath.Join(dir, socketName)
	if conn, err := dialSocket(dir); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("another flightwire process uses the data folder %s; stop it or choose another folder", dir)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open the socket for keys commands: %w", err)
	}
	short, done, err := shortPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open the socket for keys commands: %w", err)
	}
	l.SetUnlinkOnClose(false) // short may mean nothing by then
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &keySocket{path, &http.Server{Handler: keyRoutes(keys), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}}
	go func() { _ = s.http.Serve(l) }() // ends with close
	return s, nil
}

func (s *keySocket) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	return errors.Join(s.http.Shutdown(ctx), os.Remove(s.path))
}

// shortPath returns a path of the socket that is short enough to bind, and
// what to call when it has been used.
func shortPath(dir string) (path string, done func(), err error) {
	path = filepath.Join(dir, socketName)
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	path = fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), socketName)
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		_ = f.Close()
		return "", nil, fmt.Errorf("the path of the data folder is too long for a socket in it; choose a shorter one")
	}
	return path, func() { _ = f.Close() }, nil
}

func keyRoutes(keys keyStore) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, do func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := do(r)
			if err != nil {
				writeJSON(w, http.StatusInternalServerError, wireError{flight.CodeOf(err), errorLine(err)})
				return
			}
			writeJSON(w, http.StatusOK, v)
		})
	}
	handle("GET /keys", func(r *http.Request) (any, error) { return keys.List(r.Context()) })
	handle("POST /keys", func(r *http.Request) (any, error) {
		var in newKey
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&in); err != nil {
			return nil, flight.Errorf(flight.CodeInvalid, "the request for a key makes no sense")
		}
		return keys.Create(r.Context(), in.Account, in.Plan)
	})
	handle("POST /keys/{id}/rotate", func(r *http.Request) (any, error) { return keys.Rotate(r.Context(), r.PathValue("id")) })
	handle("POST /keys/{id}/revoke", func(r *http.Request) (any, error) { return keys.Revoke(r.Context(), r.PathValue("id")) })
	return mux
}

type newKey struct{ Account, Plan string }

// wireError is an error on its way through the socket.
type wireError struct {
	Code    flight.Code
	Message string
}

// remoteKeys is the command's end.
type remoteKeys struct{ http *http.Client }

// dialKeys returns the keys of the process that has the folder open; false
// when there is none.
func dialKeys(dir string) (keyStore, bool) {
	conn, err := dialSocket(dir)
	if err != nil {
		return nil, false
	}
	_ = conn.Close()
	return &remoteKeys{&http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dialSocket(dir) },
	}}}, true
}

func dialSocket(dir string) (net.Conn, error) {
	path, done, err := shortPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.DialTimeout("unix", path, 5*time.Second)
}

// Create makes a key as access.Keys does.
func (k *remoteKeys) Create(ctx context.Context, account, plan string) (out access.IssuedKey, err error) {
	err = k.call(ctx, http.MethodPost, "/keys", newKey{account, plan}, &out)
	return out, err
}

// List lists every key.
func (k *remoteKeys) List(ctx context.Context) (out []access.Key, err error) {
	err = k.call(ctx, http.MethodGet, "/keys", nil, &out)
	return out, err
}

// Rotate rotates a key.
func (k *remoteKeys) Rotate(ctx context.Context, id string) (out access.IssuedKey, err error) {
	err = k.call(ctx, http.MethodPost, "/keys/"+url.PathEscape(id)+"/rotate", nil, &out)
	return out, err
}

// Revoke revokes a key.
func (k *remoteKeys) Revoke(ctx context.Context, id string) (out access.Key, err error) {
	err = k.call(ctx, http.MethodPost, "/keys/"+url.PathEscape(id)+"/revoke", nil, &out)
	return out, err
}

func (k *remoteKeys) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://flightwire"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := k.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the running process: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	decode := json.NewDecoder(resp.Body).Decode
	if resp.StatusCode != http.StatusOK {
		var e wireError
		if err := decode(&e); err != nil {
			return fmt.Errorf("the running process answered %s", resp.Status)
		}
		return &flight.Error{Code: e.Code, Message: e.Message}
	}
	return decode(out)
}
