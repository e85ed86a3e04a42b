package decide

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
)

// withheld lists the fields that must not be in what is sent: ignored, ceded and held ones.
func withheld(in Input, findings []Finding) []field.Path {
	var out []field.Path
	add := func(p field.Path) {
		if _, named := field.Get(in.Desired, p); named && len(p) > 0 && !contains(out, p) {
			out = append(out, p)
		}
	}
	for _, p := range cededForGood(in) {
		add(p)
	}
	for _, f := range findings {
		if f.Verdict == Hold || f.Verdict == Contested || f.Verdict == Cede {
			add(f.Path)
		}
	}
	return out
}

func contains(list []field.Path, p field.Path) bool {
	for _, q := range list {
		if q.Equals(p) {
			return true
		}
	}
	return false
}

// steps turns verdicts into writes. Handing over comes first: a field that we let go of without another owner is reset
// to its default by the API server (DESIGN §3). A claimed field that nobody owns is handed over even where Git never
// named it, so that the claimant's next write is recorded.
func steps(in Input, p Plan) []Step {
	ours := field.ApplyEntry(in.Owners, field.Manager)
	why := reasonToApply(in, p, ours)
	var out []Step
	if paths := toHandOver(in, p, ours); len(paths) > 0 && (why != "" || unownedClaim(in, paths)) {
		out = append(out, Step{Verb: Handover, Paths: paths, Body: fragment(in.Live, in.Owners, paths),
			Reason: "another owner keeps the value while truce lets go of it"})
	}
	if paths := toRetake(in, p); len(paths) > 0 {
		out = append(out, Step{Verb: Retake, Paths: paths, Reason: "the value is Git's, the ownership was lost or shared"})
	}
	if why != "" {
		out = append(out, Step{Verb: Apply, Body: body(in, p.Withheld), Reason: why})
	}
	return out
}

func reasonToApply(in Input, p Plan, ours field.Shape) string {
	for _, f := range p.Findings {
		if f.Verdict == Correct {
			return f.Reason
		}
	}
	if in.Changed {
		return "Git has a new version of the object"
	}
	for _, w := range cededForGood(in) {
		if _, part := field.Atomic(in.Owners, w); ours.Has(w) && !part {
			return "Git lets go of " + field.String(w)
		}
	}
	return ""
}

// Ceded lists the paths of the rules and claims on the object, whether Git names them or not.
func Ceded(in Input) []field.Path { return cededForGood(in) }

// cededForGood lists the paths of rules and claims, whether Git names them or not; a held path is not among them: it is
// only left out when there is something else to apply.
func cededForGood(in Input) []field.Path {
	var out []field.Path
	for _, c := range in.Ignored {
		out = append(out, c.Path)
	}
	if in.Policy.Claims == app.ClaimsCede {
		for _, c := range in.Claims {
			out = append(out, c.Path)
		}
	}
	return out
}

// toHandOver lists withheld fields that would lose their last owner with our next apply, and claimed ones that nobody owns.
func toHandOver(in Input, p Plan, ours field.Shape) []field.Path {
	var out []field.Path
	add := func(path field.Path) {
		_, there := field.Get(in.Live, path)
		_, part := field.Atomic(in.Owners, path)
		if there && !part && !contains(out, path) && len(field.OthersOf(in.Owners, field.Manager, path)) == 0 {
			out = append(out, path)
		}
	}
	for _, w := range p.Withheld {
		if ours.Has(w) {
			add(w)
		}
	}
	if in.Policy.Claims == app.ClaimsCede {
		for _, c := range in.Claims {
			add(c.Path)
		}
	}
	return out
}

func unownedClaim(in Input, paths []field.Path) bool {
	for _, p := range paths {
		if _, ok := claimOn(in, p); ok {
			return true
		}
	}
	return false
}

// toRetake lists lost paths, and those that Git takes back or drops while a person or our own handover still holds them.
func toRetake(in Input, p Plan) []field.Path {
	out := append([]field.Path(nil), in.Compared.Lost...)
	for _, o := range in.Owners {
		person := field.IsPerson(o.Manager) && o.Subresource == ""
		if !person && !o.IsApply(field.Handover) {
			continue
		}
		for _, path := range o.Fields.Paths() {
			if !contains(out, path) && !covers(p.Withheld, path) && sharedWithGit(in, o, path) {
				out = append(out, path)
			}
		}
	}
	return out
}

func covers(list []field.Path, p field.Path) bool {
	for _, q := range list {
		if field.HasPrefix(p, q) {
			return true
		}
	}
	return false
}

// sharedWithGit reports whether the other owner's hold on the path would outlive what Git says: a handed-over field that
// Git enforces again, or a field that Git just dropped.
func sharedWithGit(in Input, o field.Owner, p field.Path) bool {
	_, named := field.Get(in.Desired, p)
	if o.IsApply(field.Handover) {
		_, claimed := claimOn(in, p)
		return named && !claimed
	}
	if in.Previous == nil || named || !in.Changed {
		return false
	}
	_, before := field.Get(in.Previous, p)
	return before
}

// body is desired without the withheld fields. Of an atomic field no part can be left out: it carries live's value there.
func body(in Input, withheld []field.Path) object.Object {
	out := in.Desired.Clone()
	for _, p := range withheld {
		if _, part := field.Atomic(in.Owners, p); part {
			out = compare.Overlay(out, in.Live, []field.Path{p})
			continue
		}
		field.Drop(out, p)
	}
	return out
}

// fragment is an object that names only the paths, at their live values, with the keys of the list items on the way.
func fragment(live object.Object, owners []field.Owner, paths []field.Path) object.Object {
	out := object.Object{"apiVersion": live.APIVersion(), "kind": live["kind"], "metadata": map[string]any{"name": live.Name()}}
	if ns := live.Namespace(); ns != "" {
		out.Metadata()["namespace"] = ns
	}
	for _, p := range paths {
		v, _ := field.Get(live, p)
		field.Put(out, p, object.CloneValue(v))
	}
	return out
}

// absent judges an object that is not in the cluster.
func absent(in Input) Plan {
	d := compare.Difference{Kind: compare.Missing, Desired: map[string]any(in.Desired)}
	if len(in.Compared.Differences) > 0 {
		d.Writer = in.Compared.Differences[0].Writer
	}
	f := Finding{Difference: d, Verdict: Correct, Reason: "not in the cluster"}
	switch {
	case standstill(in.Policy.Mode) != "":
		f.Verdict, f.Reason = Hold, standstill(in.Policy.Mode)+"; an apply would create it"
	case !in.Changed && in.Policy.Remediation == app.ReportOnly:
		f.Verdict, f.Reason = Hold, "remediation is off: the deletion is reported only"
	}
	p := Plan{Findings: []Finding{f}}
	if f.Verdict == Hold {
		return p
	}
	p.Steps = []Step{{Verb: Create, Body: seeded(in), Reason: f.Reason}}
	return p
}

// seeded is what a new object starts with: Git's, and for a claimed field that Git names or leaves to the claimant a value
// within the claimant's bounds. Right after its creation the field is handed over like any other.
func seeded(in Input) object.Object {
	out := in.Desired.Clone()
	if in.Policy.Claims != app.ClaimsCede {
		return out
	}
	for _, c := range in.Claims {
		git, _ := field.Get(in.Desired, c.Path)
		field.Put(out, c.Path, c.Seed(in.Memory.Value(field.String(c.Path)), git))
	}
	return out
}

// String tells a step in a few words: "apply: drift: changed by kubectl (scale)".
func (s Step) String() string { return fmt.Sprintf("%s: %s", s.Verb, s.Reason) }
