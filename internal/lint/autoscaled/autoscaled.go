// Package autoscaled answers: which live workloads do both Git and an autoscaler reach for?
//
// In: workloads as the cluster has them, what claims their counts, the Applications that agreed to live with differences.
// Out: a Row for each workload under Git that is autoscaled: whose it is, what Git's hold on the count is, and who wrote the count last.
// Promise: nothing is written; a hold is said only if a record shows it; what no record shows is Unclear, and never called a conflict.
// Not here: what the files in Git say (rules).
package autoscaled

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Hold is what Git has of the count. The zero value is unknown.
type Hold string

// The holds.
const (
	Named   Hold = "named"   // Git names it, and its controller writes it
	Agreed  Hold = "agreed"  // the Application ignores it, in a sync as well
	Ceded   Hold = "ceded"   // truce has let go of it
	Free    Hold = "free"    // Git does not name it
	Unclear Hold = "unclear" // another manager owns it now, and with that the record of an earlier writer is gone; or an update, which owns defaults as well
)

// Workload is one workload under Git that is autoscaled.
type Workload struct {
	Object  object.ID
	Parent  dialect.Parent
	Dialect discover.Dialect // whose controller applies it; Bare for truce where its mark does not give the app's kind
	Claim   claim.Claim      // the autoscaler's
	Live    any              // the count; nil for none
	Hold    Hold
	Owner   string // the field manager by which Git owns the count now; empty for none
	Wants   any    // Git's count, where a record has it
	Writer  ownership.Writer
	// Severity is what the Row is worth: an Error where the two fight.
	Severity rules.Severity
	Message  string
	Remedy   string
}

// Evidence is what is known of one workload.
type Evidence struct {
	Object object.Object // live, with its managedFields
	Parent dialect.Parent
	Claims []claim.Claim
	// Agreed says that the Application ignores the count, and respects that in a sync.
	Agreed bool
	// Unread says that the Application may ignore the count and respect that, but what says so may not be read.
	Unread bool
	Hasher ownership.Hasher
	Now    time.Time
}

// Inspect makes the Row of a workload; false where it is not under Git, or nothing scales it. Its error is a record that cannot be read.
func Inspect(e Evidence) (Workload, bool, error) {
	at := slices.IndexFunc(e.Claims, func(c claim.Claim) bool { return c.Counts() && c.By.Kind != "" })
	if at < 0 || e.Parent.Key.Name == "" && e.Parent.By == "" {
		return Workload{}, false, nil
	}
	owners, err := ownership.Entries(e.Object)
	if err != nil {
		return Workload{}, false, fmt.Errorf("%s: %w", e.Object.ID(), err)
	}
	r := Workload{Object: e.Object.ID(), Parent: e.Parent, Dialect: dialectOf(e.Parent), Claim: e.Claims[at]}
	r.Live, _ = field.ValueAt(map[string]any(e.Object), r.Claim.Path)
	r.hold(e, owners)
	r.Writer = attribution.Attribute(attribution.Case{
		Path: r.Claim.Path, Live: redact.HideValue(r.Live), UID: e.Object.UID(), Now: e.Now, Scaler: r.Claim.Scaler(), Hasher: e.Hasher,
		Writer: writerOf(owners, r.Claim.Path),
	}, attribution.Statements{})
	r.judge(e.Unread)
	return r, true, nil
}

// writerOf is the latest recorded owner: truce, too, where it holds the count.
func writerOf(owners []ownership.Entry, p field.Path) ownership.Writer {
	w := ownership.WriterOf(owners, p)
	if w.Evidence != ownership.Recorded && applies(owners, ownership.Manager, p) {
		return ownership.Writer{Name: ownership.Manager, Manager: ownership.Manager, Operation: "Apply", Evidence: ownership.Recorded}
	}
	return w
}

// applies reports whether a manager's own apply holds the count.
func applies(owners []ownership.Entry, manager string, p field.Path) bool {
	return slices.ContainsFunc(owners, func(o ownership.Entry) bool { return o.IsApply(manager) && o.Owns(p, owners) })
}

func dialectOf(p dialect.Parent) discover.Dialect {
	switch p.Key.Kind {
	case "Application", "ApplicationSet":
		return discover.ArgoCD
	case "Kustomization", "HelmRelease":
		return discover.Flux
	}
	switch p.By {
	case argocdManager:
		return discover.ArgoCD
	case "kustomize-controller", "helm-controller":
		return discover.Flux
	}
	return discover.Bare
}

const argocdManager = "argocd-controller"

// gitManagers are the field managers that write what Git says.
var gitManagers = []string{ownership.Manager, "kustomize-controller", "helm-controller", argocdManager}

// hold reads the records of Git's hold on the count, the surest first.
func (r *Workload) hold(e Evidence, owners []ownership.Entry) {
	applied, wants := lastApplied(e.Object, r.Claim.Path)
	byArgo := slices.ContainsFunc(owners, func(o ownership.Entry) bool {
		return o.Manager == argocdManager && o.Operation == "Update" && o.Subresource == ""
	})
	sure, owned := false, false // an update owns defaults as well, an apply only what it names
	for _, o := range owners {
		if !o.Owns(r.Claim.Path, owners) {
			continue
		}
		owned = true
		if slices.Contains(gitManagers, o.Manager) && o.Subresource == "" {
			r.Owner, sure = o.Manager, sure || o.Operation == "Apply"
		}
	}
	switch {
	case e.Agreed:
		r.Hold = Agreed
	case sure:
		r.Hold, r.Wants = Named, r.Live
	case byArgo && applied && wants != nil:
		r.Hold, r.Wants = Named, wants
	case byArgo && applied, leftAlone(e.Object), !owned && e.Parent.By != ownership.Manager: // a scale of a field without an owner is not recorded
		r.Hold = Free
	case applies(owners, ownership.Handover, r.Claim.Path), e.Parent.By == ownership.Manager:
		r.Hold = Ceded
	default:
		r.Hold = Unclear
	}
}

// lastApplied is what a client-side apply, which is Argo CD's default, has noted of the count: nil if it did not name it.
func lastApplied(o object.Object, p field.Path) (applied bool, wants any) {
	text, ok := o.Annotation("kubectl.kubernetes.io/last-applied-configuration")
	var m map[string]any
	if !ok || json.Unmarshal([]byte(text), &m) != nil {
		return false, nil
	}
	wants, _ = field.ValueAt(m, p)
	if n, whole := field.WholeNumber(wants); whole {
		return true, n
	}
	return true, wants
}

// fluxMarks are the annotations and labels that kustomize-controller heeds.
var fluxMarks = flux.Kustomizations{}.App(object.Object{}, policy.Policy{}).OptOuts

// leftAlone reports whether the object asks Flux not to write it again.
func leftAlone(o object.Object) bool {
	asks := fluxMarks.Of(o, nil).Effect
	return asks == optout.NeverApply || asks == optout.CreateOnly
}

// judge calls nothing a conflict that may be agreed on.
func (r *Workload) judge(unread bool) {
	count, who := field.PathString(r.Claim.Path), r.Claim.Name()
	r.Severity = rules.Info
	switch r.Hold {
	case Named:
		r.Severity = rules.Error
		r.Message = fmt.Sprintf("Git names %s: each apply sets it to %v, and %s scales from %d to %d", count, r.Wants, who, r.Claim.Min, r.Claim.Max)
		r.Remedy = "delete " + strings.TrimPrefix(count, ".") + " in Git; truce audit in the repository shows where, truce fix does it"
		if r.Owner == ownership.Manager {
			r.Severity = rules.Warning
			r.Message = fmt.Sprintf("truce holds %s at %v, and %s scales from %d to %d: it cedes it, unless claims are off", count, r.Wants, who, r.Claim.Min, r.Claim.Max)
		} else if unread {
			r.Severity = rules.Warning
			r.Message += ", unless its Application ignores that, which you may not read"
		}
	case Agreed:
		r.Message = "the Application ignores " + count + ", and respects that in a sync"
	case Ceded:
		r.Message = "truce has ceded " + count + " to " + who
	case Free:
		r.Message = "Git leaves " + count + " to " + who
	case Unclear:
		r.Message = fmt.Sprintf("%s wrote %s last, and no record shows whether Git names it", r.Writer, count)
		r.Remedy = "truce audit in its repository shows it"
	}
	for _, n := range r.Claim.Notes {
		r.Message += "; " + n
	}
}
