package jobs

// line is a queue. The zero line is empty.
type line[T any] struct {
	items []T
	gone  int // at the front
}

func (l *line[T]) len() int { return len(l.items) - l.gone }

// first returns what pop would.
func (l *line[T]) first() T { return l.items[l.gone] }

func (l *line[T]) push(v T) {
	if l.gone > 0 && len(l.items) == cap(l.items) && l.gone >= len(l.items)/2 {
		n := copy(l.items, l.items[l.gone:])
		clear(l.items[n:])
		l.items, l.gone = l.items[:n], 0
	}
	l.items = append(l.items, v)
}

// pop takes the first away; there has to be one.
func (l *line[T]) pop() T {
	v := l.items[l.gone]
	var none T
	l.items[l.gone] = none
	if l.gone++; l.gone == len(l.items) {
		l.items, l.gone = l.items[:0], 0
	}
	return v
}
