package findings

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// PruneMessage is the message about objects that a run has deleted, and why it has.
func PruneMessage(revision, why string, gone []object.ID) notify.Message {
	list := nameSome(gone)
	evidence := map[string]string{notify.FactObject: list, notify.FactBecause: why + ", at " + revision}
	if why == journal.LeftGit {
		evidence[notify.FactBecause], evidence[notify.FactNext] = revision+" does not have it", "to have it back, revert the commit"
	}
	return notify.Message{
		Event: notify.Event{Severity: notify.Info, Reason: "Pruned", Text: "deleted, for " + why + ": " + list, Revision: revision}, Evidence: evidence,
	}
}

// ChangeText says which objects a revision has created and changed, in kubectl's words.
func ChangeText(created, configured object.Tally) string {
	var out []string
	if created.Total > 0 {
		out = append(out, "created "+created.String())
	}
	if configured.Total > 0 {
		out = append(out, "configured "+configured.String())
	}
	return strings.Join(out, "; ")
}

// nameSome returns the names of objects, and counts those that are too many.
func nameSome(all []object.ID) string {
	names := make([]string, 0, min(len(all), mostNamed)+1)
	for _, id := range all[:min(len(all), mostNamed)] {
		names = append(names, id.String())
	}
	if more := len(all) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// mostNamed is how many objects a message names before it counts the others.
const mostNamed = 10
