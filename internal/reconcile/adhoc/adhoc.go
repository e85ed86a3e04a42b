// Package adhoc answers: what differs between these objects and that state, where truce is not installed?
//
// In: objects that Git describes, each with the live one and, where a server could be asked, the answer to a dry run; claims.
// Out: what an app's report says of each: its fields with writer and verdict, its health, why it could not be compared.
// Promise: pure; no mark, no inventory and no memory is needed; values of Secrets are masked; a pair that is not of one
// identity and version is never compared.
// Not here: rendering, reading files and clusters (compose), tables and exit codes (cli).
package adhoc

import (
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// Subject is one object that Git describes, and what is known of it.
type Subject struct {
	Desired  desired.Object
	Live     object.Object      // nil: not there
	Expected object.Object      // the answer to a dry run; nil where none was made
	Asked    []compare.Addition // the additions, as a dry run has shown them; used where there is Expected
	Unasked  string             // why none could be made; redacted
	Mutators mutation.Mutators  // looked up where the dry run shows that admission changes what Git names (Mutated)
	Problem  string             // why it cannot be compared, or not as well as it could; redacted
}

// Comparer is what holds for all subjects.
type Comparer struct {
	Claims  *ClaimFinder
	Cession policy.Claims // what claims lead to; empty for cede
	Health  health.Assessor
	Mask    redact.Mask
	Hasher  ownership.Hasher
	// Kinds know what a server fills in, for where none can be asked; nil for nothing.
	Kinds *schema.Kinds
}

// Object judges one subject.
func (j Comparer) Object(s Subject) report.Object {
	id := s.Desired.ID
	out := report.Object{
		ID: id, Version: s.Desired.GVK.Version, File: s.Desired.File, Line: s.Desired.Line, Problem: s.Problem,
		Health: health.Status{Code: health.Missing, Message: "not in the cluster"}, UID: s.Live.UID(),
	}
	if s.Live != nil {
		out.Health = health.Explained(s.Live, j.Health.Assess(s.Live))
		out.Health.Message = redact.Message(id, out.Health.Message)
	}
	found, err := j.findings(s)
	if err != nil {
		out.Problem = redact.Message(id, err.Error())
		return out
	}
	out.Judged = true
	for _, f := range found {
		out.Findings = append(out.Findings, report.MaskFinding(j.Mask, id, f))
	}
	return out
}

func (j Comparer) findings(s Subject) ([]decide.Finding, error) {
	if s.Live != nil && s.Live.APIVersion() != s.Desired.Data.APIVersion() {
		return nil, otherVersion(s)
	}
	owners, err := ownership.Entries(s.Live)
	if err != nil {
		return nil, err
	}
	schema, err := ownership.Entries(s.Expected)
	if err != nil {
		return nil, err
	}
	pair := s.pair(owners, schema)
	if pair.Added, err = j.added(s); err != nil {
		return nil, err
	}
	if s.Live != nil && s.Expected == nil {
		pair.Live = canonical(s.Live)
	}
	in := decide.Input{
		Desired: pair.Desired, Live: pair.Live, Owners: owners, Hasher: j.Hasher, Mutators: s.Mutators, Catalogue: claim.Builtin(),
		Claims: j.Claims.On(s), Policy: policy.Policy{Mode: policy.Preview, Claims: j.cession(), Remediation: policy.Remediate, Additions: policy.AdditionsReport},
	}
	pair.Withheld = in.CededPaths()
	compared := compare.CompareWithoutBaseline(pair)
	if s.Live != nil && s.Expected == nil && s.Unasked == "" {
		compared.Differences = append(compared.Differences, j.dropped(s, owners, compared.Differences)...)
		slices.SortFunc(compared.Differences, func(a, b compare.Difference) int { return a.Path.Compare(b.Path) })
	}
	in.Compared = compared
	p := decide.JudgeObject(in)
	for i := range p.Findings {
		p.Findings[i].Reason = explainReason(p.Findings[i])
	}
	return p.Findings, nil
}

func (s Subject) pair(owners, schema []ownership.Entry) compare.Pair {
	return compare.Pair{
		Desired: s.Desired.Data, Live: s.Live, Owners: owners, Expected: s.Expected, Schema: schema,
		Native: desired.IsBuiltInGroup(s.Desired.GVK.Group), Applied: applied(owners),
	}
}

// IsMutated reports whether the dry run shows that admission changes a field that Git names.
func IsMutated(s Subject) (bool, error) {
	owners, err := ownership.Entries(s.Live)
	if err != nil || s.Expected == nil {
		return false, err
	}
	schema, err := ownership.Entries(s.Expected)
	if err != nil {
		return false, err
	}
	differences := compare.CompareWithoutBaseline(s.pair(owners, schema)).Differences
	return slices.ContainsFunc(differences, func(d compare.Difference) bool { return d.Kind == compare.Mutated }), nil
}

func (j Comparer) cession() policy.Claims {
	if j.Cession == "" {
		return policy.ClaimsCede
	}
	return j.Cession
}

// canonical brings a live object that came from a file into the form in which Git's is compared: it may be written by hand.
func canonical(live object.Object) object.Object {
	out := desired.Sanitise(live)
	out.Metadata()["managedFields"] = live.At("metadata", "managedFields")
	return out
}

// explainReason says that Git has changed, for a field that was written last by the manager that applies Git: it has not drifted.
func explainReason(f decide.Finding) string {
	applied := slices.Contains(appliers, f.Writer.Name) || slices.Contains(updaters, f.Writer.Name)
	switch {
	case f.Verdict != decide.Correct || len(f.Path) == 0:
		return f.Reason
	case f.Kind == compare.Extra && applied:
		return "Git names it no more; " + f.Writer.Name + " applied it"
	case f.Kind == compare.Extra:
		return "Git names it no more; " + f.Reason
	case slices.Contains(appliers, f.Writer.Name):
		return "Git has another value than the one that " + f.Writer.Name + " applied"
	}
	return f.Reason
}
