package discover

import (
	"cmp"
	"slices"
)

// Group is what was not looked into for one reason.
type Group struct {
	Why string
	All []Skipped // in the order in which they were given
}

// Grouped gathers things by their reasons, the most frequent reason first.
func Grouped(all []Skipped) []Group {
	var out []Group
	at := map[string]int{}
	for _, k := range all {
		why := cmp.Or(k.Reason, k.Why)
		i, known := at[why]
		if !known {
			i, at[why] = len(out), len(out)
			out = append(out, Group{Why: why})
		}
		out[i].All = append(out[i].All, k)
	}
	slices.SortStableFunc(out, func(a, b Group) int { return len(b.All) - len(a.All) })
	return out
}
