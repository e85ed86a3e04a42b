package reconcile

import (
	"bytes"
	"fmt"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/fight"
	"github.com/truce-gitops/truce/internal/journal"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/report"
)

// verdicts are the journal's words for what became of a difference.
var verdicts = map[decide.Verdict]journal.What{
	decide.Correct: journal.Corrected, decide.Cede: journal.Ceded, decide.Hold: journal.Held, decide.Contested: journal.Contested,
}

// noteFinding writes a finding into the journal. Its values are masked already.
func (e *Engine) noteFinding(n Notice) {
	what, ok := verdicts[n.Finding.Verdict]
	if !ok || e.Journal == nil {
		return
	}
	f := n.Finding
	e.Journal.Append(journal.Entry{
		At: n.At.UTC(), App: n.App, What: what, Object: n.ID, Path: field.String(f.Path), Git: f.Desired, Live: f.Live,
		Writer: f.Writer.Name, Evidence: string(f.Writer.Evidence), Claimant: f.Claimant, Revision: e.revisionOf(n.App), Reason: f.Reason,
	})
}

func (e *Engine) revisionOf(key app.Key) string {
	s := e.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report.Revision
}

// noteRun writes down a revision that was applied whole for the first time, and a run that stopped for another reason than the one before.
func (e *Engine) noteRun(before, now report.Report) {
	if e.Journal == nil {
		return
	}
	switch {
	case now.Stage == report.Done && (before.Applied != now.Applied || before.Stage != report.Done):
		e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: now.App, What: journal.Applied, Revision: now.Revision})
	case now.Stage != report.Done && (before.Reason != now.Reason || before.Message != now.Message || before.Revision != now.Revision):
		e.Journal.Append(journal.Entry{At: e.Now().UTC(), App: now.App, What: journal.Failed, Revision: now.Revision, Reason: now.Message})
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
	m, err := fight.Decode(text)
	if err != nil {
		return fight.Memory{}, fmt.Errorf("%s: %w", id, err)
	}
	return m, nil
}

// keepMemory writes down what is remembered of an object, if that has changed. Its lock is held by the caller.
func (e *Engine) keepMemory(r *record) {
	if e.Memories == nil {
		return
	}
	text, err := r.memory.Encode()
	if err != nil || bytes.Equal(text, r.kept) {
		return // values come from decoded JSON, which can be encoded
	}
	r.kept = text
	e.Memories.Remember(r.id, text)
}
