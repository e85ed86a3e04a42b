package reconcile

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// past is what the last comparison of the same two objects has seen. Where Git's object or the baseline is another one now, a field may differ
// that no one wrote.
func (w *objectReconcile) past() compare.Past {
	if !w.snap.state.compared || w.rebased {
		return compare.Past{Known: w.snap.past.Known}
	}
	out := w.snap.past
	if w.version != 0 && w.version == versionOf(w.live) {
		out.Single = w.arrived
	}
	return out
}

// remembered is what the next comparison is to know of this one.
func (w *objectReconcile) remembered() compare.Past {
	out := compare.Past{At: w.engine.Now(), Seen: w.engine.Hasher.Observe(w.owners, w.engine.Now())}
	before := w.past()
	for _, f := range w.plan.Findings {
		if out.Known == nil {
			out.Known = map[string]compare.Known{}
		}
		path, k := field.PathString(f.Path), compare.Known{Live: f.LiveHash(w.engine.Hasher)}
		k.Before, k.CededTo = before.Before(path, k.Live), before.Known[path].CededTo
		if f.Verdict == decide.Cede {
			k.CededTo = f.Claimant
		}
		out.Known[path] = k
	}
	return out
}

// applied takes note of our own write: what is still different now is as that write has left it.
func (w *objectReconcile) applied() {
	w.snap.past.At, w.snap.past.Seen = w.engine.Now(), w.engine.Hasher.Observe(w.owners, w.engine.Now())
	w.version = 0
}

// said lists what this process has said of the fields that hold the same value still.
func (w *objectReconcile) said() []attribution.EarlierAnswer {
	w.managed.mu.Lock()
	defer w.managed.mu.Unlock()
	var out []attribution.EarlierAnswer
	for _, f := range w.managed.findings {
		path := field.PathString(f.Path)
		for _, now := range w.plan.Findings {
			known, ok := w.snap.past.Known[path]
			if ok && now.Path.Equals(f.Path) && known.Live == now.LiveHash(w.engine.Hasher) {
				out = append(out, attribution.EarlierAnswer{Path: path, Live: now.Live, Writer: f.Writer, SameProcess: true})
			}
		}
	}
	return out
}

// statusWithin is how long the status of an autoscaler that may have scaled is waited for: its controller writes it right after the scale.
const statusWithin = 2 * time.Second

// postpones reports whether the report of a ceded count waits a moment: the autoscaler's own status is about to show whether it has set it. The
// report is then as of now. A count that has moved since the last comparison waits for as long again.
func (w *objectReconcile) postpones(f decide.Finding, moved bool) bool {
	if f.Verdict != decide.Cede || f.Writer.Name != "" && !attribution.IsHPAWrite(f.Writer) || !w.scales(f) {
		return false
	}
	until, ok := w.snap.postponed[field.PathString(f.Path)]
	if !ok || moved {
		until = w.engine.Now().Add(statusWithin)
	}
	if !w.engine.Now().Before(until) {
		return false
	}
	if w.postponed == nil {
		w.postponed = map[string]time.Time{}
	}
	w.postponed[field.PathString(f.Path)] = until
	if w.plan.RetryAt.IsZero() || until.Before(w.plan.RetryAt) {
		w.plan.RetryAt = until
	}
	return true
}

// hasMoved reports whether the field had another value at the last comparison.
func hasMoved(known []report.Finding, now report.Finding) bool {
	return slices.ContainsFunc(known, func(f report.Finding) bool { return f.Path.Equals(now.Path) && !field.EqualValues(f.Live, now.Live) })
}

// scales reports whether an autoscaler with a status of its own claims the field.
func (w *objectReconcile) scales(f decide.Finding) bool {
	for _, c := range w.claims {
		if c.Counts() && c.Path.Equals(f.Path) && (c.By.Kind == "HorizontalPodAutoscaler" || c.Scaled.Known()) {
			return true
		}
	}
	return false
}

// unsaid returns the findings whose report was postponed and whose value is gone by now: they are reported as they were.
func (w *objectReconcile) unsaid(known []report.Finding) []report.Finding {
	var out []report.Finding
	for _, f := range known {
		if _, ok := w.snap.postponed[field.PathString(f.Path)]; !ok {
			continue
		}
		stands := false
		for _, now := range w.plan.Findings {
			stands = stands || now.Path.Equals(f.Path) && field.EqualValues(w.mask(now).Live, f.Live)
		}
		if !stands {
			out = append(out, f)
		}
	}
	return out
}

// writerNow is who has set a field that is as Git wants again.
func (w *objectReconcile) writerNow(p field.Path, live redact.Raw, id object.ID) ownership.Writer {
	c := attribution.Case{Path: p, Live: live, UID: w.live.UID(), Now: w.engine.Now(), Hasher: w.engine.Hasher}
	h := w.past().History(w.owners, w.engine.Hasher, p, live)
	c.Writer, c.Sender = h.WriterOf(p), h.Sender()
	if h.Untouched(p) {
		c.Hold = attribution.Untouched
	}
	var said attribution.Statements
	if w.engine.Witnesses.Writes != nil {
		said.Records = w.engine.Witnesses.Writes.Of(id)
	}
	return attribution.Attribute(c, said)
}
