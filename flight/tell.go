package flight

// ChangeSet is a set of change types: a subscription's events filter.
type ChangeSet uint32

var changeBit = func() map[ChangeType]ChangeSet {
	m := make(map[ChangeType]ChangeSet, len(ChangeTypes))
	for i, t := range ChangeTypes {
		m[t] = 1 << i
	}
	return m
}()

// AllChanges is the filter that lets everything pass.
const AllChanges = ChangeSet(1<<23 - 1)

// NewChangeSet returns the set of types. ok is false when one is no change type.
func NewChangeSet(types ...ChangeType) (set ChangeSet, ok bool) {
	for _, t := range types {
		bit, known := changeBit[t]
		if !known {
			return 0, false
		}
		set |= bit
	}
	return set, true
}

// Has reports whether t is in the set.
func (c ChangeSet) Has(t ChangeType) bool { return c&changeBit[t] != 0 }

// Types lists the set in the order of the contract.
func (c ChangeSet) Types() []ChangeType {
	types := make([]ChangeType, 0, len(ChangeTypes))
	for i, t := range ChangeTypes {
		if c&(1<<i) != 0 {
			types = append(types, t)
		}
	}
	return types
}

// Told is what a subscription knows of the delays: those of the last delay.*
// entries that it was sent, at first those at its creation or resume. 0 where
// none was known.
type Told struct {
	Departure, Arrival int // minutes
}

// ToldBy returns what a subscription that has just been shown s knows.
func ToldBy(s *Snapshot) Told {
	var t Told
	if d := s.Departure.DelayMinutes; d != nil {
		t.Departure = *d
	}
	if d := s.Arrival.DelayMinutes; d != nil {
		t.Arrival = *d
	}
	return t
}

// Tell returns the entries of changes (a Diff up to next) that a subscription
// is sent, in their order, and what it then knows of the delays. An entry goes
// out when filter has its type. The delay.* entries of the Diff are replaced
// by those between what this subscription was last told and next, where the
// swing at that end is threshold minutes or more. An empty result means that
// nothing is sent.
func Tell(changes []Change, next *Snapshot, filter ChangeSet, threshold int, told Told) ([]Change, Told) {
	var out []Change
	i := 0
	for ; i < len(changes) && changeBit[changes[i].Type] < changeBit[ChangeDelayIncreased]; i++ {
		if filter.Has(changes[i].Type) {
			out = append(out, changes[i])
		}
	}
	swing := func(end string, told *int, now *int) {
		if now == nil || abs(*now-*told) < max(threshold, MinDelayThreshold) {
			return
		}
		if c := newDelayChange(end, *told, *now); filter.Has(c.Type) {
			out = append(out, c)
			*told = *now
		}
	}
	swing("departure", &told.Departure, next.Departure.DelayMinutes)
	swing("arrival", &told.Arrival, next.Arrival.DelayMinutes)
	for ; i < len(changes); i++ {
		if t := changes[i].Type; t != ChangeDelayIncreased && t != ChangeDelayDecreased && filter.Has(t) {
			out = append(out, changes[i])
		}
	}
	return out, told
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
