package reconcile

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// verdicts are the journal's words for what became of a difference.
var verdicts = map[decide.Verdict]journal.EntryKind{
	decide.Correct: journal.Corrected, decide.Cede: journal.Ceded, decide.Hold: journal.Held, decide.Contested: journal.Contested,
}

// noteFinding writes a finding into the journal.
func (e *Engine) noteFinding(n report.FindingEvent, in gitPlace) {
	what, ok := verdicts[n.Finding.Verdict]
	if !ok || e.Journal == nil {
		return
	}
	f := n.Finding
	if in.revision == "" {
		in.revision = e.revisionOf(n.App)
	}
	e.Journal.Append(journal.Entry{
		At: n.At.UTC(), App: n.App, What: what, Object: n.ID, Path: field.PathString(f.Path), Git: f.Desired, Live: f.Live,
		Writer: f.Writer.Name, Manager: f.Writer.Manager, Person: f.Writer.Person, User: f.Writer.User, During: f.Writer.During, Written: f.Writer.Time.UTC(), AtLatest: f.Writer.AtLatest, Before: f.Writer.Before,
		Often: f.Writer.Often, Because: f.Writer.Because, Evidence: string(f.Writer.Evidence), Claimant: f.Claimant, Revision: in.revision, Place: in.place, Begins: in.begins, Reason: f.Reason,
	})
}

// gitPlace is where Git writes a field: at which place, where its object begins, and in which revision that is so.
type gitPlace struct{ place, begins, revision string }

// inGit is what the journal keeps of Git for those who read it when nothing else is left. Files are read for it, so it is asked of what
// only a commit ends alone: what is put back for the first time needs none, and there may be thousands of those.
func (w *objectReconcile) inGit(n report.FindingEvent) gitPlace {
	f := n.Finding
	if w.engine.Journal == nil || f.Kind == compare.Added || f.Verdict != decide.Cede && f.Verdict != decide.Contested && !n.Undone {
		return gitPlace{}
	}
	artifact, err := w.engine.Sources.Artifact(w.app.Source)
	if err != nil || w.snap.file == "" {
		return gitPlace{} // the app's own run reports what is wrong with the source
	}
	o := desired.Object{ID: w.managed.id, GVK: w.snap.gvk, Data: w.snap.desired, File: w.snap.file, Line: w.snap.line}
	at := gitPlace{begins: fmt.Sprintf("%s:%d", o.File, o.Line), revision: artifact.Revision}
	if p := desired.FieldOrigin(artifact.Files, w.app.AtRevision(artifact.Commit, artifact.Files).OfFile(o.File), o, f.Path); p.Known() {
		at.place = p.String()
	}
	return at
}

// sourceOf names the file and line of a field in Git, or of its object; empty where that is not known.
func (w *objectReconcile) sourceOf(in gitPlace) string {
	if in.place != "" || w.snap.file == "" {
		return in.place
	}
	return fmt.Sprintf("%s:%d", w.snap.file, w.snap.line)
}

// noteEnd writes down that a difference is no more.
func (e *Engine) noteEnd(key app.Key, id object.ID, f report.Finding, end journal.Entry) {
	if e.Journal == nil {
		return
	}
	e.Journal.Append(journal.Entry{
		At: e.Now().UTC(), App: key, What: end.What, Object: id, Path: field.PathString(f.Path), Git: f.Desired, Live: f.Live,
		Writer: f.Writer.Name, Manager: f.Writer.Manager, Person: f.Writer.Person, User: f.Writer.User, During: f.Writer.During,
		Written: f.Writer.Time.UTC(), AtLatest: f.Writer.AtLatest, Because: f.Writer.Because,
		Evidence: string(f.Writer.Evidence), Revision: e.revisionOf(key), Reason: end.Reason,
	})
}

// noteLost writes down that an adopted app is lost to the controller that it was adopted from.
func (e *Engine) noteLost(key app.Key, why string) {
	if e.Journal != nil {
		e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: key, What: journal.Lost, Revision: e.revisionOf(key), Reason: why})
	}
}

// notePruned writes down that an object of an app was deleted. It may be called concurrently.
func (s *pruneRun) notePruned(id object.ID) {
	if e := s.engine; e.Journal != nil {
		e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: s.app, What: journal.Pruned, Object: id, Revision: s.revision, Reason: s.why})
	}
}

// noteRecreated writes down that an object was deleted to be created as Git has it, and why.
func (e *Engine) noteRecreated(key app.Key, id object.ID, why string) {
	if e.Journal != nil {
		e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: key, What: journal.Recreated, Object: id, Revision: e.revisionOf(key), Reason: why})
	}
}

// noteRelease writes down what was done with the newest release of the app.
func (r *appRun) noteRelease(action hook.Step, newest releases.Stored) {
	e := r.engine
	if e.Journal == nil {
		return
	}
	what := fmt.Sprintf("release %s/%s.v%d", r.app.Release.Namespace, r.app.Release.Name, newest.Revision)
	if text, err := newest.Text(); err == nil {
		chart, version := releases.ChartOf(text)
		what += fmt.Sprintf(" with chart %s@%s", chart, version)
	}
	e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: r.app.Key, What: journal.Released, Revision: r.artifact.Revision, Action: string(action), Reason: what})
}

func (e *Engine) revisionOf(key app.Key) string {
	s := e.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report.Revision
}

// notedRun is what the journal needs of a run to know whether the next one is news.
type notedRun struct {
	stage                      report.Stage // where it stopped; empty for no run
	reason                     report.Reason
	message, revision, applied string
}

// rememberedRun is what a custom resource remembers of the newest run: a revision that was applied whole, one that was rolled out, and why the run has
// failed about the one that was attempted.
type rememberedRun struct{ completed, reached, attempted, failure string }

// of returns the run that is remembered, as far as it can be compared with the first one that this process notes.
func (m rememberedRun) of(r *appRun) notedRun {
	now := r.report
	switch {
	case now.Stage != report.Done && now.Message != "" && strings.Contains(m.failure, now.Message) && m.hasAttempted(r):
		return notedRun{now.Stage, now.Reason, now.Message, now.Revision, now.Applied}
	case m.failure != "":
		return notedRun{stage: report.Apply}
	case m.completed != "" && m.completed == now.Applied || isRemembered(r.artifact, m.reached) || m.attempted != "" && m.attempted == now.Applied:
		return notedRun{stage: report.Done, revision: now.Revision, applied: now.Applied}
	}
	return notedRun{}
}

// hasAttempted reports whether the failure that is remembered was about the revision of the run. Without a revision, and for an app that waits for
// another one, no attempt is remembered.
func (m rememberedRun) hasAttempted(r *appRun) bool {
	now := r.report
	return now.Revision == "" || now.Reason == report.DependencyNotReady || m.attempted == now.Revision || isRemembered(r.artifact, m.attempted)
}

// onlyWaits reports whether a run that ended so only waits: it has not stopped.
func onlyWaits(r report.Reason) bool { return r == report.InProgress || r == report.AwaitingHealth }

// noteRun writes down a revision that was applied whole for the first time, an app that was suspended, and a run that stopped for another
// reason than the one before. What an earlier process has noted is known from the custom resource.
func (r *appRun) noteRun(before notedRun, isFirst bool) {
	e, now := r.engine, r.report
	if e.Journal == nil {
		return
	}
	if before.stage == "" {
		before = r.state.remembered.of(r)
	}
	switch {
	case now.Reason == report.Suspended:
		if before.reason != report.Suspended && !isFirst {
			e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: now.App, What: journal.Suspended, Revision: now.Revision, Reason: now.Message})
		}
	case now.Stage == report.Done && now.Applied != now.Revision: // it was only compared: it waits for a sync
	case now.Stage == report.Done && (before.applied != now.Applied || before.stage != report.Done):
		e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: now.App, What: journal.Applied, Revision: now.Revision})
	case onlyWaits(now.Reason):
	case now.Stage != report.Done && (before.reason != now.Reason || before.message != now.Message || before.revision != now.Revision):
		e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: now.App, What: journal.Failed, Revision: now.Revision, Reason: now.Message, NoFiles: now.WithoutFiles()})
	}
}

// recall brings back what an earlier process remembered of an object.
func (e *Engine) recall(id object.ID) (fight.Memory, error) {
	if e.Memories == nil {
		return fight.Memory{}, nil
	}
	text, err := e.Memories.Recall(id)
	if err != nil {
		return fight.Memory{}, fmt.Errorf("%s: %w", id, err)
	}
	m, err := fight.DecodeMemory(text)
	if err != nil { // it is history: an object without it is judged all the same, and the next memory takes its place
		return fight.Memory{}, nil
	}
	return m, nil
}

// keepMemory writes down what is remembered of an object, if that has changed. Its lock is held by the caller.
func (e *Engine) keepMemory(r *managedObject) error {
	if e.Memories == nil {
		return nil
	}
	text, err := r.memory.Encode()
	if err != nil {
		return fmt.Errorf("remember %s: %w", r.id, err)
	}
	if !bytes.Equal(text, r.savedMemory) {
		r.savedMemory = text
		e.Memories.Remember(r.id, text)
	}
	return nil
}

// forgetMemory drops what is remembered of an object that is gone, or let go of for good: there are never more memories than objects that
// an app has or asks for.
func (e *Engine) forgetMemory(id object.ID) {
	e.mu.RLock()
	_, kept := e.objects[id]
	_, wanted := e.waiting[id]
	e.mu.RUnlock()
	if e.Memories != nil && !kept && !wanted {
		e.Memories.Remember(id, nil)
	}
}
