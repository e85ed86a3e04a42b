package view

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/breaker"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// journalCache is the journal of the controller, asked once: for who has written what is live, and for what the controller waits with.
type journalCache struct {
	cluster *Cluster
	app     app.Key

	once  sync.Once
	all   []journal.Entry
	about map[object.ID][]journal.Entry
	err   error
}

func (n *journalCache) Entries(ctx context.Context) ([]journal.Entry, error) {
	n.once.Do(func() {
		n.all, n.err = n.cluster.pastOf(ctx, n.app)
		n.about = map[object.ID][]journal.Entry{}
		for _, e := range n.all {
			n.about[e.Object] = append(n.about[e.Object], e)
		}
	})
	return n.all, n.err
}

// waits gives what this process would put back the verdict of the controller where that waits with it: only the controller remembers how
// often a field was put back. It says so in its journal, which was asked for this difference already, and, where that cannot be read, in
// the app's status.
func (c *Cluster) waits(ctx context.Context, d *Detail, n *journalCache) error {
	for _, o := range d.Report.Objects {
		for i, f := range o.Findings {
			if f.Verdict != decide.Correct {
				continue
			}
			if _, err := n.Entries(ctx); err == nil { // else the difference itself says it, as of a witness that is missing
				f = breaker.ApplyJournal(f, n.about[o.ID], time.Now())
			}
			var err error
			if o.Findings[i], err = c.contested(ctx, d, o.ID, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// contested believes the status while a controller gives a sign of life: one that is gone has left its last word there.
func (c *Cluster) contested(ctx context.Context, d *Detail, id object.ID, f report.Finding) (report.Finding, error) {
	said := breaker.ApplyEvidence(f, id, d.Recorded.Contested, time.Now())
	if said.Verdict == f.Verdict {
		return f, nil
	}
	doubt, err := c.ControllerAbsence(ctx, d.App.Key.Namespace)
	if err != nil || doubt == "" {
		return said, err
	}
	text := fmt.Sprintf("%s: the app's status says %q, but %s", f.FieldName(id), said.Reason, doubt)
	d.Report.Notes = append(d.Report.Notes, redact.MaskText(text))
	return f, nil
}
