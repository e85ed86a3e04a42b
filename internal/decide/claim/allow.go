package claim

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// Allows reports whether a field that Git does not name is no drift although it was set, and by which entry: the API
// server's own allocation, another controller's annotation, a field that is claimed. By is the entry of managedFields that holds
// it; the zero Entry where none does.
func (c *Catalogue) Allows(s Subject, p field.Path, by ownership.Entry) (Entry, bool) {
	id := s.id()
	for _, rules := range [][]rule{c.allowed.about(id), c.claims.about(id)} {
		for _, r := range rules {
			if slices.ContainsFunc(r.entry.Paths, func(q Path) bool { return q.covers(p) }) && s.allows(r, by) {
				return *r.entry, true
			}
		}
	}
	return Entry{}, false
}

func (s Subject) allows(r rule, by ownership.Entry) bool {
	e := r.evidence
	if e.Manager != "" {
		return e.isManager(by)
	}
	return e.on(s.Desired) || e.on(s.Live)
}
