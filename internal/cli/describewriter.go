package cli

import (
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report"
)

// describeWriter says who set a field, and what else is known of that: "kubectl (scale) as alice, 12s ago, from 8, 3 times within the hour"; of an entry of
// managedFields it is only known that the field was written "at the latest 12s ago". Without
// a time of now it does not say how long ago.
func describeWriter(w ownership.Writer, now time.Time) string {
	out := w.String()
	if !w.Time.IsZero() && !now.IsZero() {
		out += ", "
		if w.AtLatest {
			out += "at the latest "
		}
		out += formatAge(w.Time, now) + " ago"
	}
	if w.Before != nil {
		out += ", from " + report.FormatValue(w.Before)
	}
	if w.Often > 1 {
		out += fmt.Sprintf(", %d times within the hour", w.Often)
	}
	return out
}

// deletedBy says who has deleted an object, where that is known.
func deletedBy(f report.Finding, now time.Time) string {
	if f.Writer.Name == "" {
		return ""
	}
	return ": deleted by " + describeWriter(ownership.Writer{
		Name: f.Writer.Name, Manager: f.Writer.Manager, User: f.Writer.User, Time: f.Writer.Time, AtLatest: f.Writer.AtLatest, Evidence: f.Writer.Evidence,
	}, now)
}
