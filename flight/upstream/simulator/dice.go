package simulator

import (
	"hash/fnv"
	"strconv"
)

// dice is a stream of numbers that a text determines: splitmix64 from the
// text's FNV hash. It is written out here so that the world does not change
// with a library.
type dice uint64

// dice returns the dice that a world has for a name of several parts.
func (w *Source) dice(parts ...string) *dice {
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendUint(nil, w.seed, 10))
	for _, p := range parts {
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(p))
	}
	d := dice(h.Sum64())
	return &d
}

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n returns a number from 0 to k-1.
func (d *dice) n(k int) int { return int(d.next() % uint64(k)) }

// between returns a number from low to high.
func (d *dice) between(low, high int) int { return low + d.n(high-low+1) }

// chance is true in so many cases of a hundred.
func (d *dice) chance(percent int) bool { return d.n(100) < percent }

func pick[T any](d *dice, from []T) T { return from[d.n(len(from))] }
