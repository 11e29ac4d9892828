package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/flightwire/flightwire/db"
	"github.com/flightwire/flightwire/flight"
)

const (
	lookForAnswer = 20 * time.Millisecond // between two looks for another process's answer
	answerKept    = 5 * time.Second       // how long what came of a call is told to those who wait
)

// errElsewhere says that another process has asked, and stored what it heard.
var errElsewhere = errors.New("another process has asked")

// said is what came of a call, as the processes tell each other: nothing when
// the flight was found, which SQL has then.
type said struct {
	Token      string        `json:"token"` // of the call
	Code       flight.Code   `json:"code,omitempty"`
	Message    string        `json:"message,omitempty"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

func (s said) err() error {
	if s.Code == "" {
		return nil
	}
	return &flight.Error{Code: s.Code, Message: s.Message, RetryAfter: s.RetryAfter}
}

// done frees the name of a call, unless it was taken from it, and tells those
// who wait what came of it.
var done = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])`)

// alone makes a call while no other process makes one of the same name; else it
// waits for what comes of that one, which is errElsewhere or the error that it
// ended with. Without Redis each process asks for itself, and a process that
// dies over its call holds up the others for no longer than its time-out.
func (in *Intake) alone(ctx context.Context, name string, call func() (answer, error)) (answer, error) {
	if in.OnlyProcess {
		return call()
	}
	asking, answered := "fw:asking:{"+name+"}", "fw:asked:{"+name+"}"
	token := uuid.NewString()
	for {
		other, err := in.Client.claimCall(ctx, asking, token, in.lease())
		if err != nil {
			slog.WarnContext(ctx, "a call cannot be shared with other processes; it is made here", "flight", name, "error", err)
			return call()
		}
		if other == "" {
			a, err := call()
			in.Client.endCall(ctx, asking, answered, token, err)
			return a, err
		}
		in.Step("call.awaited")
		if s, ok := in.Client.awaitCall(ctx, asking, answered, other); ok {
			if err := s.err(); err != nil {
				return answer{}, err
			}
			return answer{}, errElsewhere
		}
		if ctx.Err() != nil {
			return answer{}, ctx.Err()
		}
	}
}

// claimCall takes the name of a call, or returns the token of who has it.
func (c *Client) claimCall(ctx context.Context, asking, token string, lease time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for {
		if ok, err := c.redis.SetNX(ctx, asking, token, lease).Result(); ok || err != nil {
			return "", err
		}
		other, err := c.redis.Get(ctx, asking).Result()
		if !errors.Is(err, redis.Nil) { // else it was given up just now
			return other, err
		}
	}
}

// endCall tells what came of a call. That it fails costs those who wait a call
// of their own.
func (c *Client) endCall(ctx context.Context, asking, answered, token string, callErr error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ringTimeout)
	defer cancel()
	s := said{Token: token}
	if callErr != nil {
		s.Code, s.Message = flight.CodeOf(callErr), "Something went wrong."
		if e, ok := errors.AsType[*flight.Error](callErr); ok {
			s.Message, s.RetryAfter = e.Message, e.RetryAfter
		}
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = done.Run(ctx, c.redis, []string{asking, answered}, token, text, answerKept.Milliseconds()).Err()
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		slog.WarnContext(ctx, "what came of a call could not be told to other processes", "error", err)
	}
}

// awaitCall waits for what comes of the call with that token. ok is false when
// it ended without a word, or ctx did.
func (c *Client) awaitCall(ctx context.Context, asking, answered, token string) (_ said, ok bool) {
	tick := time.NewTicker(lookForAnswer)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return said{}, false
		case <-tick.C:
		}
		values, err := c.redis.MGet(ctx, answered, asking).Result()
		if err != nil {
			return said{}, false
		}
		var last said // anew each time: what is left out of a text is to be empty
		if text, has := values[0].(string); has && json.Unmarshal([]byte(text), &last) == nil && last.Token == token {
			return last, true
		}
		if values[1] != token {
			return said{}, false
		}
	}
}

// elsewhere returns what stands after another process has asked.
func (in *Intake) elsewhere(ctx context.Context, key flight.Key) (answer, error) {
	st, err := in.DB.Standing(ctx, key)
	return answer{Answer: in.nothing(key), accepted: db.Accepted{Standing: st}}, err
}

// nothing is an answer that changes nothing of what stands, but ends a claim.
func (in *Intake) nothing(key flight.Key) db.Answer {
	now := in.DB.Now()
	return db.Answer{Key: key, Now: in.Clock.World(now), Schedule: in.Schedule()}
}
