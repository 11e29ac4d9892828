package jobs

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A line gives back what it was given, in order, and keeps no more room than
// twice what waits.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line[int]
		var want []int
		next, most := 0, 0
		for _, push := range rapid.SliceOfN(rapid.Bool(), 0, 400).Draw(t, "pushes") {
			if push {
				l.push(next)
				want = append(want, next)
				next++
			} else if len(want) > 0 {
				if first, got := l.first(), l.pop(); first != want[0] || got != want[0] {
					t.Fatalf("first %d, popped %d, want %d", first, got, want[0])
				}
				want = want[1:]
			}
			most = max(most, len(want))
			if l.len() != len(want) || !slices.Equal(l.items[l.gone:], want) {
				t.Fatalf("%v wait, want %v", l.items[l.gone:], want)
			}
			if cap(l.items) > 4*most+8 {
				t.Fatalf("room for %d where never more than %d waited", cap(l.items), most)
			}
		}
	})
}
