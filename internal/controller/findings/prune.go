package findings

import (
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// PruneMessage is the message about objects that a run has deleted, and why it has.
func PruneMessage(revision, why string, gone []object.ID) notify.Message {
	list := object.TallyOf(gone).String()
	evidence := map[string]string{notify.FactObject: list, notify.FactBecause: why + ", at " + revision}
	if why == journal.LeftGit {
		evidence[notify.FactBecause], evidence[notify.FactNext] = revision+" does not have it", "to have it back, revert the commit"
	}
	return notify.Message{
		Event: notify.Event{Severity: notify.Info, Reason: "Pruned", Text: "deleted, for " + why + ": " + list, Revision: revision}, Evidence: evidence,
	}
}

// HoldPause is how long the news waits that a commit has taken an app's files: where it has taken the app too, the run of the app that deletes it is over by then, and
// nothing was wrong.
const HoldPause = 10 * time.Second

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
