package object

import (
	"maps"
	"slices"
)

// Set is a group of objects, at most one of each ID.
type Set map[ID]Object

// IDs returns the members' names in ID order.
func (s Set) IDs() []ID { return slices.SortedFunc(maps.Keys(s), ID.Compare) }
