package graph

import (
	"context"
	"sync"
	"time"

	"github.com/flightwire/flightwire/flight"
)

// errRefused is told to a stream whose key was rotated or revoked, or whose
// account was disabled, while it was open.
var errRefused = &flight.Error{Code: flight.CodeInvalidAPIKey,
	Message: "The API key is not valid any more: it was revoked or replaced, or its account was disabled. Connect again with a key that is."}

// keyWatch looks again, every few seconds, at the keys of connections that stay
// open. A key is asked about once, however many have it.
type keyWatch struct {
	auth  Authenticator
	every time.Duration

	mu   sync.Mutex
	keys map[string]*watchedKey
}

// watchedKey is who wants to hear when a key is refused.
type watchedKey struct {
	refused map[int]func()
	next    int
	stop    context.CancelFunc
}

func newKeyWatch(auth Authenticator, every time.Duration) *keyWatch {
	return &keyWatch{auth: auth, every: every, keys: map[string]*watchedKey{}}
}

// watch calls refused, once and from a goroutine of its own, when the key is
// found to be refused before end is called. A key that cannot be asked about
// is not refused. Of "", which nobody was let in by, nothing is heard.
func (w *keyWatch) watch(key string, refused func()) (end func()) {
	if key == "" {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys[key]
	if k == nil {
		ctx, stop := context.WithCancel(context.Background())
		k = &watchedKey{refused: map[int]func(){}, stop: stop}
		w.keys[key] = k
		go w.look(ctx, key, k)
	}
	n := k.next
	k.next++
	k.refused[n] = refused
	return sync.OnceFunc(func() { w.leave(key, k, n) })
}

func (w *keyWatch) leave(key string, k *watchedKey, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(k.refused, n)
	if len(k.refused) == 0 {
		k.stop()
		if w.keys[key] == k {
			delete(w.keys, key)
		}
	}
}

// look asks about a key until it is refused, or ctx ends.
func (w *keyWatch) look(ctx context.Context, key string, k *watchedKey) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := w.auth.Authenticate(ctx, key)
		switch flight.CodeOf(err) {
		case flight.CodeMissingAPIKey, flight.CodeInvalidAPIKey, flight.CodeAccountDisabled:
			w.mu.Lock()
			if w.keys[key] == k {
				delete(w.keys, key) // whoever comes now is watched anew
			}
			calls := k.refused
			k.refused = map[int]func(){}
			k.stop()
			w.mu.Unlock()
			for _, refused := range calls {
				go refused()
			}
			return
		}
	}
}
