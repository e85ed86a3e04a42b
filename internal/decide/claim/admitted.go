package claim

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Admitted returns the entry that lets one of these mutating webhooks or policies, known by the names of their configurations and of the
// webhooks themselves, change a field of an object on its way to the server; false where no entry does.
func (c *Catalogue) Admitted(id object.ID, p field.Path, names []string) (Entry, bool) {
	for _, e := range c.entries {
		known := slices.ContainsFunc(e.Evidence, func(ev Evidence) bool {
			return ev.Webhook != "" && slices.ContainsFunc(names, func(name string) bool { return matchesGlob(ev.Webhook, name) })
		})
		if known && e.Do == Cede && matchesKind(e.On, id) && slices.ContainsFunc(e.Paths, func(at Path) bool { return at.covers(p) }) {
			return e, true
		}
	}
	return Entry{}, false
}
