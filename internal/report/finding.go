package report

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
)

// FindingOf is a finding with its object.
type FindingOf struct {
	ID object.ID
	Finding
}

// FindingsWhere lists findings of the app. Counts of Git's that are not applied come first: a list that is cut must not hide them.
func (r Report) FindingsWhere(is func(Finding) bool) []FindingOf {
	var out []FindingOf
	for _, o := range r.Objects {
		for _, f := range o.Findings {
			if is(f) {
				out = append(out, FindingOf{o.ID, f})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b FindingOf) int { return applied(a.Finding) - applied(b.Finding) })
	return out
}

func applied(f Finding) int {
	if f.NotApplied != "" {
		return 0
	}
	return 1
}

// CountDropWarning says that a count falls to Git's once its claimant is gone.
func (f Finding) CountDropWarning(id object.ID, claimant string) string {
	return fmt.Sprintf("%s drops from %s to %s without %s: Git names %s; to keep the pods, name %s in Git, or no count",
		f.FieldName(id), FormatValue(f.Live), FormatValue(f.Desired), claimant, FormatValue(f.Desired), FormatValue(f.Live))
}
