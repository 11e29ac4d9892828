package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/access"
	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

// openRedis connects to Redis and checks that it answers. "" is a Redis in
// this process, which begins empty and ends with the client.
func openRedis(ctx context.Context, list string) (redis.UniversalClient, error) {
	if list == "" {
		return embeddedRedis(), nil
	}
	o, err := redisOptions(list)
	if err != nil {
		return nil, err
	}
	client := redis.NewUniversalClient(o)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("redis does not answer: %w", err), client.Close())
	}
	return client, nil
}

// inProcess is a client of a Redis in this process, which it takes with it.
type inProcess struct {
	*redis.Client
	server        *miniredis.Miniredis
	stop, stopped chan struct{}
}

// embeddedRedis makes a Redis in this process. It listens nowhere.
func embeddedRedis() *inProcess {
	m := miniredis.NewMiniRedis()
	r := &inProcess{server: m, stop: make(chan struct{}), stopped: make(chan struct{})}
	r.Client = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, ContextTimeoutEnabled: true,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
	})
	go func() { // it does not advance time by itself
		defer close(r.stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-r.stop:
				return
			case <-tick.C:
				m.FastForward(time.Second)
			}
		}
	}()
	return r
}

// Close ends the client and the Redis.
func (r *inProcess) Close() error {
	close(r.stop)
	<-r.stopped
	err := r.Client.Close()
	r.server.Close()
	return err
}

// keptSecret returns the secret key that is kept in the data folder, and makes
// it the first time.
func keptSecret(dir string) ([]string, error) {
	path := filepath.Join(dir, "secret.key")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var raw [32]byte
		_, _ = rand.Read(raw[:]) // never fails
		if err := keep(path, base64.StdEncoding.EncodeToString(raw[:])); err != nil {
			return nil, fmt.Errorf("keep a secret key: %w", err)
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	return []string{strings.TrimSpace(string(text))}, nil
}

// keep writes a file for its owner's eyes, whole or not at all, unless it is
// there already.
func keep(path, line string) error {
	tmp, err := writeBeside(path, line)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }()
	if err := os.Link(tmp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return os.Rename(tmp, path) // a file system without links
	}
	return nil
}

// writeBeside writes a line to a new file next to path and returns its name.
func writeBeside(path, line string) (name string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // made with 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(line + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// demo is what dev has besides the service: a key that works at once, and the
// socket through which commands reach this process.
type demo struct {
	key     string
	keyFile string
	account string
	db      *db.DB
	socket  *operatorSocket
}

// openDemo finds the demo key of an earlier start, or makes one, and opens the
// socket.
func openDemo(ctx context.Context, c Config, d *db.DB, r redis.UniversalClient, guard *access.Guard) (*demo, error) {
	keys := access.NewKeys(d, r)
	keys.Plans = c.Plans
	m := &demo{keyFile: filepath.Join(c.DataDir, "demo.key"), db: d}
	if err := m.openKey(ctx, keys, guard); err != nil {
		return nil, fmt.Errorf("demo key: %w", err)
	}
	var err error
	m.socket, err = serveOperator(c.DataDir, newLocal(d, r, c.Plans))
	return m, err
}

func (m *demo) openKey(ctx context.Context, keys *access.Keys, guard *access.Guard) error {
	text, err := os.ReadFile(m.keyFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.key = strings.TrimSpace(string(text))
	who, err := guard.Authenticate(ctx, m.key)
	switch flight.CodeOf(err) {
	case "":
		m.account = who.Account
		return nil
	case flight.CodeAccountDisabled:
		return errors.New("its account is disabled; take it into use again with: flightwire accounts enable demo")
	case flight.CodeMissingAPIKey, flight.CodeInvalidAPIKey: // none yet, or it was revoked
	default:
		return err
	}
	issued, err := keys.Create(ctx, "demo", "unlimited")
	if err != nil {
		return err
	}
	m.key = issued.Key
	tmp, err := writeBeside(m.keyFile, m.key)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, m.keyFile); err != nil {
		return err
	}
	who, err = guard.Authenticate(ctx, m.key)
	m.account = who.Account
	return err
}

// secret returns the signing secret of a subscription of the demo account.
func (m *demo) secret(ctx context.Context, subscriptionID string) (string, error) {
	s, err := m.db.Subscription(ctx, m.account, subscriptionID)
	if err != nil {
		return "", err
	}
	return s.Secret, nil
}

func (m *demo) close() error { return m.socket.close() }
