package reader

import (
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// Adopted reads the annotations about an adoption: how it was made (truce.dev/adopted), and into the passage when, and what has ended it.
func (r *Reader) Adopted(cr object.Object, passage policy.Adoption) (how string, read policy.Adoption) {
	how, _ = cr.Annotation(AdoptedKey)
	passage.Lost, _ = cr.Annotation(LostKey)
	if text, there := cr.Annotation(AdoptedAtKey); there {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			r.Problem("annotation "+AdoptedAtKey, "want a time as in 2026-01-02T15:04:05Z, not %q", text)
		}
		passage.At = at
	}
	return how, passage
}

// ControllerOf returns the name by which people know the controller that writes under a field manager; the field manager where it is not
// known.
func ControllerOf(manager string) string {
	if name := writers[manager]; name != "" {
		return name
	}
	if strings.HasPrefix(manager, "gotk-") { // the field managers of statuses of Flux's controllers
		return "Flux"
	}
	return manager
}
