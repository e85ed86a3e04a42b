package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// FindingOf is a finding with its object.
type FindingOf struct {
	ID object.ID
	Finding
}

// FindingEvent reports one finding when it appears, and when it is corrected.
type FindingEvent struct {
	App     app.Key
	ID      object.ID
	Finding Finding
	Carried bool      // the correction was written
	Undone  bool      // truce had put the field back lately, and this is the first sight of it differing again
	Since   time.Time // when the difference was first seen; zero if that is unknown
	At      time.Time
	// Without is the claimant whose claim ends, where the notice comes before the count drops to Git's; nothing was found then.
	Without string
	// Source is where Git describes the field, or else the object: file:line. It is empty where that is not known.
	Source string
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
