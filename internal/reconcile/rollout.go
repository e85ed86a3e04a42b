package reconcile

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// decideRollout decides, as soon as the revision is known, whether this run is a rollout: of a sync request, or of a revision that was
// not brought out yet. Otherwise it is a look, with what the policy lets a look do.
func (r *appRun) decideRollout() {
	a := r.asked
	if a.Policy.Mode != policy.Enforce {
		return
	}
	if a.SyncRequest.Token == "" && (a.Rollout == app.OnRequest || r.wasRolledOut()) {
		return
	}
	if r.isExhausted() {
		r.keepApplied()
		return
	}
	if r.mayChangeNothing() {
		r.onlyCompare()
		return
	}
	r.beginRollout()
}

func (r *appRun) beginRollout() {
	r.report.Rollout = r.currentRollout()
	if refused := r.asked.SyncRequest.Refused; refused != "" {
		r.endRollout(report.SpecRefused, refused)
		return
	}
	r.purpose.rollOut()
	r.beginWritten()
	r.app = r.asked.InRollout()
	r.setPolicy(r.app)
}

// setPolicy makes the streets judge as the app says from now on.
func (r *appRun) setPolicy(a app.App) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.app = a
}

// currentRollout is the rollout that begins, or goes on after a pause.
func (r *appRun) currentRollout() report.Rollout {
	before := r.report.Rollout
	now := report.Rollout{Order: r.asked.SyncRequest, Revision: r.report.Revision, Begun: r.report.At}
	if !r.asked.SyncRequest.StartedAt.IsZero() {
		now.Begun = r.asked.SyncRequest.StartedAt
	}
	if before.Healing || before.Reason == report.OperationAbandoned || before.Order.Token != now.Order.Token || before.Revision != now.Revision && now.Order.Token == "" {
		return now
	}
	switch {
	case before.Ended.IsZero() && !before.Begun.IsZero():
		now.Begun, now.Tries, now.Outcomes = before.Begun, before.Tries, before.Outcomes
	case before.Reason != report.Succeeded && !before.Begun.IsZero() && r.engine.Now().Before(before.Next): // the run has another cause than the retry
		now.Tries, now.Next = before.Tries, before.Next
	case before.Reason != report.Succeeded && !before.Begun.IsZero():
		now.Tries = before.Tries + 1
	}
	return now
}

// rolloutKey is what a rollout is about: these files, read and changed in this way.
func (r *appRun) rolloutKey() string {
	a, m := r.asked, r.asked.Manifests
	over := []any{a.Namespace, a.Overlay, a.Overlay.Metadata, a.Chart}
	if to := a.DefaultNamespace; to.HasMetadata() { // else the key is that of earlier versions, which an inventory may hold
		over = append(over, to.Labels, to.Annotations)
	}
	laid, err := json.Marshal(over)
	if err != nil {
		laid = nil // texts, numbers and what was read from JSON always encode
	}
	files := r.artifact.Commit
	if len(r.artifact.Included) > 0 {
		files += " " + r.artifact.Digest
	}
	return strings.Join([]string{
		files, a.Source.Kind, a.Source.Namespace, a.Source.Name, a.Path, partsKey(a.Parts), string(a.Layout), m.Include, m.Exclude, recursionKey(m), string(laid), r.releaseKey(),
	}, "\n")
}

// partsKey says how several sources are read.
func partsKey(parts []app.Part) string {
	if len(parts) == 0 {
		return ""
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Source.Revision = "" // the commits say more
		parts[i].Source.Project = ""  // with whose credentials they were fetched changes nothing of them
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return "" // texts, numbers and what was read from JSON always encode
	}
	return string(text)
}

func recursionKey(m app.Manifests) string {
	if m.Recurse {
		return "below"
	}
	return ""
}

func (r *appRun) wasRolledOut() bool {
	if r.chart.made != nil {
		return r.isReleased()
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.rolledOut != "" {
		return r.state.rolledOut == r.rolloutKey()
	}
	return isRemembered(r.artifact, r.asked.ReachedRevision)
}

// isRemembered reports whether an artifact is the one that a custom resource remembers: by its commit, a chart by its version, several sources by
// that of each, with spaces between.
func isRemembered(a source.Artifact, remembered string) bool {
	each, parts := strings.Fields(remembered), []source.Artifact{a}
	if strings.Contains(a.Revision, " ") {
		parts = a.Included
	}
	if len(each) != len(parts) {
		return false
	}
	for i, p := range parts {
		if version, _, _ := strings.Cut(p.Revision, "@"); each[i] != p.Commit && each[i] != version {
			return false
		}
	}
	return len(each) > 0
}

// isComplete reports whether the run may say that its revision is applied.
func (r *appRun) isComplete() bool {
	return r.app.Policy.Mode != policy.Await && (r.app.SyncRequest.Token == "" || r.app.Policy.Mode == policy.Enforce && len(r.app.SyncRequest.Objects) == 0)
}

// closeRollout ends the rollout with the run, unless the run is to be taken up again at once.
func (r *appRun) closeRollout() {
	switch {
	case r.isTerminated && r.purpose == rollingOut:
		r.endRollout(report.OperationTerminated, errTerminated.Error())
	case r.isTerminated:
		r.report.Rollout = r.unbegunRollout()
		r.endRollout(report.OperationTerminated, errTerminated.Error())
	case r.purpose == rollingOut && (r.report.Reason == report.InProgress || r.report.Reason == report.AwaitingHealth || r.report.Reason == report.DependencyNotReady):
		r.report.Rollout.Message, r.report.Rollout.Outcomes = r.report.Message, r.outcomes()
	case r.purpose == rollingOut:
		r.endRollout(r.report.Reason, r.report.Message)
	case r.hasOpenRequest() && r.report.Stage != report.Done && r.report.Reason != report.InProgress && r.report.Reason != report.Suspended:
		r.report.Rollout = r.unbegunRollout()
		r.endRollout(r.report.Reason, r.report.Message)
	default:
		r.noteHealing()
	}
	if r.purpose == rollingOut || r.purpose.comparesOnly() || r.asked.SyncRequest.Refused != "" {
		r.state.mu.Lock()
		r.state.app = r.state.betweenRollouts(r.asked)
		r.state.mu.Unlock()
	}
}

// unbegunRollout is the rollout that was asked for and stopped before the revision was known.
func (r *appRun) unbegunRollout() report.Rollout {
	o := r.currentRollout()
	if r.report.Stage == report.Fetch {
		o.Revision = r.asked.SyncRequest.RevisionOr(r.report.Revision)
	}
	return o
}

// hasOpenRequest reports whether an order was given that has neither been carried out nor refused: it is gone with its last try.
func (r *appRun) hasOpenRequest() bool { return r.asked.SyncRequest.Token != "" }

func (r *appRun) endRollout(why report.Reason, message string) {
	o := &r.report.Rollout
	o.Ended, o.Reason, o.Message = r.engine.Now(), why, message
	if r.purpose == rollingOut {
		o.Outcomes = r.outcomes()
	}
	if r.purpose == rollingOut && why == report.Succeeded && r.isComplete() {
		r.state.mu.Lock()
		r.state.rolledOut, r.state.exhausted = r.rolloutKey(), exhausted{}
		r.state.mu.Unlock()
	}
	if why == report.OperationTerminated && r.isAutomated() {
		r.exhaust(why, message)
		r.engine.queue.EnqueueApp(r.app.Key) // what was applied is compared
	}
	if why == report.Succeeded || why == report.OperationTerminated || r.asked.SyncRequest.Refused != "" {
		o.Next = time.Time{}
		return
	}
	r.noteExhausted()
}

// outcomes is what became of each object that the rollout was about, and came to.
func (r *appRun) outcomes() []report.Outcome {
	if !r.applies {
		earlier := slices.DeleteFunc(slices.Clone(r.report.Rollout.Outcomes), func(o report.Outcome) bool { return o.IsFirst })
		return append(r.namespaceOutcome(), earlier...)
	}
	out := r.namespaceOutcome()
	add := func(l report.ListedObject, fate report.Fate, message string) {
		if r.app.SyncRequest.Covers(l.ID) {
			out = append(out, report.Outcome{ListedObject: l, Fate: fate, Message: message})
		}
	}
	for _, id := range r.state.objects() {
		rec := r.engine.lookup(id)
		if rec == nil || rec.isAwaitingWave() {
			continue
		}
		o := rec.view()
		fate := report.Brought
		if o.Problem != "" {
			fate = report.Failed
		} else if r.leavesOut(id) {
			continue
		}
		add(report.ListedObject{ID: id, Version: o.Version}, fate, o.Problem)
	}
	for _, s := range r.engine.sharedObjects(r.app.Key) {
		if !s.Ours {
			add(report.ListedObject{ID: s.ID}, report.Failed, s.String())
		}
	}
	for _, l := range r.pruned {
		add(l, report.Pruned, "")
	}
	for _, l := range r.report.Leaving {
		add(l, report.Spared, "")
	}
	return out
}

// objects lists what the newest revision names, in order.
func (s *appState) objects() []object.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]object.ID, 0, len(s.wanted))
	for id := range s.wanted {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, object.ID.Compare)
	return ids
}

// sharedObjects lists the objects that this app and another one name, in order.
func (e *Engine) sharedObjects(key app.Key) []report.Shared {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []report.Shared
	for id, all := range e.waiting {
		rec := e.objects[id]
		if rec == nil {
			continue
		}
		rec.mu.Lock()
		holds := rec.owner
		rec.mu.Unlock()
		for _, w := range all {
			switch {
			case w.hold == createsOnly:
			case key == holds:
				out = append(out, report.Shared{ID: id, With: w.app, Ours: true})
			case key == w.app:
				out = append(out, report.Shared{ID: id, With: holds})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b report.Shared) int { return a.ID.Compare(b.ID) })
	return out
}

func listedEntries(entries []inventory.Entry) []report.ListedObject {
	var out []report.ListedObject
	for _, e := range entries {
		out = append(out, report.ListedObject{ID: e.ID, Version: e.Version})
	}
	return out
}

// stillIn keeps those of the entries that the ledger has.
func stillIn(ledger inventory.Record, entries []inventory.Entry) []inventory.Entry {
	has := entryIDs(ledger.Entries)
	return slices.DeleteFunc(slices.Clone(entries), func(e inventory.Entry) bool { return !has[e.ID] })
}

// BeginSyncRequest says that an order is under way: the next run carries it out.
func (e *Engine) BeginSyncRequest(key app.Key, o app.SyncRequest) {
	s := e.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Rollout = report.Rollout{Order: o, Revision: s.report.Revision, Begun: o.StartedAt}
}

// refreshRivals refreshes the status of the apps that own what an app was refused, if that is not the same as before.
func (e *Engine) refreshRivals(before, now []report.Shared) {
	if slices.Equal(before, now) {
		return
	}
	for _, s := range slices.Concat(before, now) {
		if !s.Ours {
			e.queue.AppChanged(s.With)
		}
	}
}
