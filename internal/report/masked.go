package report

import (
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Finding is a decide.Finding as a person may see it: values of Secrets are masked. MaskFinding makes it; its fields are those of
// decide.Finding.
type Finding struct {
	Path          field.Path // empty: the object as a whole
	Kind          compare.Kind
	Desired, Live any // masked; nil where absent
	Writer        ownership.Writer
	Verdict       decide.Verdict
	Reason        string
	Claimant      string
	CededTo       string
	Reported      bool
	NewInGit      bool // as decide.Finding has it
	Overrides     decide.Verdict
	NotApplied    string
	PausedBy      string
	Remedy        string
}

// MaskFinding returns a finding about the object as a person may see it.
func MaskFinding(m redact.Mask, id object.ID, f decide.Finding) Finding {
	return Finding{
		Path: f.Path, Kind: f.Kind, Desired: m.Show(id, f.Path, f.Desired), Live: m.Show(id, f.Path, f.Live), Writer: f.Writer,
		Verdict: f.Verdict, Reason: f.Reason, Claimant: f.Claimant, CededTo: f.CededTo, Reported: f.Reported, NewInGit: f.NewInGit, Overrides: f.Overrides,
		NotApplied: f.NotApplied, PausedBy: f.PausedBy, Remedy: f.Remedy,
	}
}

// Differs reports whether the finding makes its object OutOfSync. What is ceded does not, and neither does a reported addition.
func (f Finding) Differs() bool { return f.Verdict != decide.Cede && !f.Reported }

// Opponent is who changed the field, as fights count them.
func (f Finding) Opponent() fight.Opponent { return fight.OpponentOf(f.Writer, f.Path) }
