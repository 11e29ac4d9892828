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
	"os"
	"path/filepath"
	"time"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// The embedded database has one process. The operator's commands reach it
// through a socket in the data folder, which only the folder's owner can open.
// They speak HTTP: a POST to the operation's name, with a call as JSON.

const socketName = "flightwire.sock"

// callTimeout is for one operation: an account may have very many
// subscriptions to pause, and a database very many secrets to seal.
const callTimeout = 30 * time.Minute

// maxSocketPath is the shortest of what systems allow for such a path.
const maxSocketPath = 100

// operatorSocket is the process's end.
type operatorSocket struct {
	path string
	http *http.Server
}

// serveKeys opens the socket. The database's lock on the folder says that no
// living process has it, so what lies there is of a dead one.
func serveOperator(dir string, o operator) (*operatorSocket, error) {
	path := filepath.Join(dir, socketName)
	if conn, err := dialSocket(dir); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("another flightwire process uses the data folder %s; stop it or choose another folder", dir)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open the socket for commands: %w", err)
	}
	short, done, err := shortPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open the socket for commands: %w", err)
	}
	l.SetUnlinkOnClose(false) // short may mean nothing by then
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &operatorSocket{path, &http.Server{Handler: operatorRoutes(o), ReadTimeout: 10 * time.Second, WriteTimeout: callTimeout}}
	go func() { _ = s.http.Serve(l) }() // ends with close
	return s, nil
}

func (s *operatorSocket) close() error {
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

// call is what an operation is told; each has its own part of it.
type call struct {
	Account, Plan, ID, Month, Key string
	Limit                         int
	Disabled                      bool
}

// operations are what the socket offers, by name.
func operations(o operator) map[string]func(context.Context, call) (any, error) {
	return map[string]func(context.Context, call) (any, error){
		"keys":            func(ctx context.Context, _ call) (any, error) { return o.Keys(ctx) },
		"keys.create":     func(ctx context.Context, c call) (any, error) { return o.CreateKey(ctx, c.Account, c.Plan) },
		"keys.rotate":     func(ctx context.Context, c call) (any, error) { return o.RotateKey(ctx, c.ID) },
		"keys.revoke":     func(ctx context.Context, c call) (any, error) { return o.RevokeKey(ctx, c.ID) },
		"accounts":        func(ctx context.Context, _ call) (any, error) { return o.Accounts(ctx) },
		"accounts.create": func(ctx context.Context, c call) (any, error) { return o.CreateAccount(ctx, c.Account, c.Plan) },
		"accounts.token":  func(ctx context.Context, c call) (any, error) { return o.IssueToken(ctx, c.Account) },
		"accounts.plan":   func(ctx context.Context, c call) (any, error) { return o.SetPlan(ctx, c.Account, c.Plan) },
		"accounts.set":    func(ctx context.Context, c call) (any, error) { return o.SetDisabled(ctx, c.Account, c.Disabled) },
		"usage":           func(ctx context.Context, c call) (any, error) { return o.Usage(ctx, c.Month) },
		"audit":           func(ctx context.Context, c call) (any, error) { return o.Audit(ctx, c.Account, c.Limit) },
		"reencrypt":       func(ctx context.Context, c call) (any, error) { return o.Reencrypt(ctx, c.Key) },
	}
}

func operatorRoutes(o operator) http.Handler {
	mux := http.NewServeMux()
	for name, do := range operations(o) {
		mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
			var c call
			err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&c)
			if err != nil {
				err = flight.Errorf(flight.CodeInvalid, "the request makes no sense")
			}
			var v any
			if err == nil {
				v, err = do(r.Context(), c)
			}
			if err != nil {
				writeJSON(w, http.StatusInternalServerError, wireError{flight.CodeOf(err), errorLine(err)})
				return
			}
			writeJSON(w, http.StatusOK, v)
		})
	}
	return mux
}

// wireError is an error on its way through the socket.
type wireError struct {
	Code    flight.Code
	Message string
}

// remote is the command's end.
type remote struct{ http *http.Client }

// dialOperator returns the operator of the process that has the folder open;
// false when there is none.
func dialOperator(dir string) (operator, bool) {
	conn, err := dialSocket(dir)
	if err != nil {
		return nil, false
	}
	_ = conn.Close()
	return &remote{&http.Client{Timeout: callTimeout, Transport: &http.Transport{
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

func (r *remote) CreateKey(ctx context.Context, account, plan string) (access.IssuedKey, error) {
	return tell[access.IssuedKey](ctx, r, "keys.create", call{Account: account, Plan: plan})
}

func (r *remote) Keys(ctx context.Context) ([]access.Key, error) {
	return tell[[]access.Key](ctx, r, "keys", call{})
}

func (r *remote) RotateKey(ctx context.Context, id string) (access.IssuedKey, error) {
	return tell[access.IssuedKey](ctx, r, "keys.rotate", call{ID: id})
}

func (r *remote) RevokeKey(ctx context.Context, id string) (access.Key, error) {
	return tell[access.Key](ctx, r, "keys.revoke", call{ID: id})
}

func (r *remote) CreateAccount(ctx context.Context, name, plan string) (access.IssuedToken, error) {
	return tell[access.IssuedToken](ctx, r, "accounts.create", call{Account: name, Plan: plan})
}

func (r *remote) IssueToken(ctx context.Context, name string) (access.IssuedToken, error) {
	return tell[access.IssuedToken](ctx, r, "accounts.token", call{Account: name})
}

func (r *remote) Accounts(ctx context.Context) ([]access.Account, error) {
	return tell[[]access.Account](ctx, r, "accounts", call{})
}

func (r *remote) SetPlan(ctx context.Context, name, plan string) (access.Account, error) {
	return tell[access.Account](ctx, r, "accounts.plan", call{Account: name, Plan: plan})
}

func (r *remote) SetDisabled(ctx context.Context, name string, disabled bool) (access.Account, error) {
	return tell[access.Account](ctx, r, "accounts.set", call{Account: name, Disabled: disabled})
}

func (r *remote) Usage(ctx context.Context, month string) ([]db.AccountUsage, error) {
	return tell[[]db.AccountUsage](ctx, r, "usage", call{Month: month})
}

func (r *remote) Audit(ctx context.Context, account string, limit int) ([]db.AuditEntry, error) {
	return tell[[]db.AuditEntry](ctx, r, "audit", call{Account: account, Limit: limit})
}

func (r *remote) Reencrypt(ctx context.Context, firstKey string) (db.Reencrypted, error) {
	return tell[db.Reencrypted](ctx, r, "reencrypt", call{Key: firstKey})
}

// tell has the running process do something.
func tell[T any](ctx context.Context, r *remote, name string, c call) (out T, err error) {
	body, err := json.Marshal(c)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://flightwire/"+name, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return out, fmt.Errorf("ask the running process: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	decode := json.NewDecoder(resp.Body).Decode
	if resp.StatusCode != http.StatusOK {
		var e wireError
		if err := decode(&e); err != nil {
			return out, fmt.Errorf("the running process answered %s", resp.Status)
		}
		return out, &flight.Error{Code: e.Code, Message: e.Message}
	}
	return out, decode(&out)
}
