package object

import (
	"fmt"
	"slices"
	"strings"
)

// mostNamed is how many objects a Tally names before it counts the others.
const mostNamed = 10

// Tally is how many objects there are of a sort, with the first of them.
type Tally struct {
	First []ID
	Total int
}

// TallyOf returns the tally of objects in their order.
func TallyOf(ids []ID) Tally { return Tally{First: ids[:min(len(ids), mostNamed)], Total: len(ids)} }

// With returns the tally with one object more, where its objects are in order.
func (t Tally) With(id ID) Tally {
	at, _ := slices.BinarySearchFunc(t.First, id, ID.Compare)
	first := slices.Insert(slices.Clone(t.First), at, id)
	return Tally{First: first[:min(len(first), mostNamed)], Total: t.Total + 1}
}

// String names the objects, and counts those that are too many.
func (t Tally) String() string {
	names := make([]string, 0, len(t.First)+1)
	for _, id := range t.First {
		names = append(names, id.String())
	}
	if more := t.Total - len(t.First); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
