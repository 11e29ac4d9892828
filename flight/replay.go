package flight

// MaxReplay is how many events one replay sends again at most.
const MaxReplay = 10_000

// Replay says which events of a subscription are to be sent again: those that
// were missed since a moment, or after an event; all that were missed where
// neither is set.
type Replay struct {
	Since         Time   // what was recorded at this moment or later
	After         string // what comes after this event in the subscription's sequence
	IncludeFailed bool   // also what was attempted, and not taken
}

// Replayed is what a replay has come to.
type Replayed struct {
	Count int  `json:"count"` // how many events wait to be sent again
	More  bool `json:"more"`  // the same replay once more sends others
}

// Sends returns nil when an event of this type can be sent to a subscription in
// this status, else CodeInvalidState: what is paused or suspended is to be
// resumed first.
func (s Status) Sends(t EventType) error {
	if t.SentWhile(s) {
		return nil
	}
	e := Errorf(CodeInvalidState, "The subscription is %s, so nothing is sent to it. Resume it first.", s)
	e.Status = s
	return e
}
