package report

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Chosen is a finding with its object.
type Chosen struct {
	ID object.ID
	decide.Finding
}

// Chosen lists findings of the app. Counts of Git's that are not applied come first: a list that is cut must not hide them.
func (r Report) Chosen(is func(decide.Finding) bool) []Chosen {
	var out []Chosen
	for _, o := range r.Objects {
		for _, f := range o.Findings {
			if is(f) {
				out = append(out, Chosen{o.ID, f})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Chosen) int { return applied(a.Finding) - applied(b.Finding) })
	return out
}

func applied(f decide.Finding) int {
	if f.NotApplied != "" {
		return 0
	}
	return 1
}

// Drop says that a count falls to Git's once its claimant is gone.
func Drop(id object.ID, f decide.Finding, claimant string) string {
	return fmt.Sprintf("%s drops from %s to %s without %s: Git names %s; to keep the pods, name %s in Git, or no count",
		FieldName(id, f), Show(f.Live), Show(f.Desired), claimant, Show(f.Desired), Show(f.Live))
}
