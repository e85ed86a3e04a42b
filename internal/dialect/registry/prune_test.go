package registry_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// swept judges one object that left Git, with the annotations and labels that it has in the cluster.
func swept(in decide.PruneInput, labels, annotations map[string]any) string {
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}
	all := map[string]any{object.PartOf: "flux-system.web"}
	maps.Copy(all, labels)
	live := object.Object{"metadata": map[string]any{"uid": "1", "labels": all, "annotations": annotations}}
	in.Rules = registry.PruneRules()
	in.Gone, in.Total, in.Label = []decide.PruneCandidate{{ID: id, UID: "1", Live: live}}, 1, "flux-system.web"
	s := decide.PlanPrune(in)
	switch k, kept := s.Keep[id]; {
	case kept:
		return strings.TrimSpace(fmt.Sprintf("kept: %s %s", k.Why, k.Counts))
	case slices.Contains(s.Forget, id):
		return "forgotten"
	case s.Held != "":
		return "held: " + strings.ReplaceAll(s.Held, s.Token, "TOKEN")
	}
	return "deleted"
}

// TestTheDocumentsNameEveryMarkThatKeepsAnObject: the marks of all tools hold for every app, which the users of one do not expect.
func TestTheDocumentsNameEveryMarkThatKeepsAnObject(t *testing.T) {
	page, err := os.ReadFile("../../../docs/opt-outs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "## What keeps a live object")
	for _, r := range registry.PruneRules() {
		if !strings.Contains(part, r.Key) || !strings.Contains(strings.ToLower(part), strings.ToLower(r.Value)) {
			t.Errorf("docs/opt-outs.md does not say that %s: %s keeps an object", r.Key, r.Value)
		}
	}
}

// TestAnObjectsOwnOptionCountsInsteadOfItsApps: with each option of the app, of when Git no longer names the object and of when the app is deleted.
func TestAnObjectsOwnOptionCountsInsteadOfItsApps(t *testing.T) {
	const options = "argocd.argoproj.io/sync-options"
	asks := func(why string) string {
		return "held: ConfigMap shop/web is not pruned without confirmation (" + why + "); to approve, run truce app approve-prune, or annotate the app with truce.dev/approve-prune=TOKEN"
	}
	never, confirm := policy.Restraint{Never: true, Mark: "Prune=false of the app"}, policy.Restraint{Mark: "Prune=confirm of the app"}
	stays, waits := policy.Restraint{Never: true, Mark: "Delete=false"}, policy.Restraint{Mark: "Delete=confirm"}
	const kept, own = "kept: Prune=false of the app leaving", "kept: annotation " + options + ": Prune=false leaving"
	for _, c := range []struct {
		options                   string
		never, confirm, confirmed string // Git no longer names it: with the app's option Prune=false, Prune=confirm, the same and a confirmation
		stays, waits, prunes      string // the app is deleted: with its option Delete=false, Delete=confirm, Prune=false
	}{
		{"", kept, asks(confirm.Mark), "deleted", "forgotten", "forgotten", "deleted"},
		{"Prune=true", "deleted", "deleted", "deleted", "forgotten", "forgotten", "deleted"},
		{"Prune=false", own, own, own, "forgotten", "forgotten", "deleted"},
		{"Prune=false, Prune=true", own, own, own, "forgotten", "forgotten", "deleted"},
		{"Prune=confirm", asks(options + ": Prune=confirm"), asks(options + ": Prune=confirm"), "deleted", "forgotten", "forgotten", "deleted"},
		{"Prune=truly", kept, asks(confirm.Mark), "deleted", "forgotten", "forgotten", "deleted"},
		{"Validate=false, Delete=true", kept, asks(confirm.Mark), "deleted", "deleted", "deleted", "deleted"},
		{"Delete=false", kept, asks(confirm.Mark), "deleted", "forgotten", "forgotten", "forgotten"},
		{"Delete=true, Delete=confirm", kept, asks(confirm.Mark), "deleted", "forgotten", "forgotten", "forgotten"},
		{"Delete=True", kept, asks(confirm.Mark), "deleted", "forgotten", "forgotten", "deleted"},
		{"Prune=true, Delete=true", "deleted", "deleted", "deleted", "deleted", "deleted", "deleted"},
	} {
		judge := func(in decide.PruneInput) string {
			in.Policy = policy.PruneDelete
			return swept(in, nil, map[string]any{options: c.options})
		}
		got := []string{
			judge(decide.PruneInput{PruneRestraint: never, DeleteRestraint: stays}),
			judge(decide.PruneInput{PruneRestraint: confirm, DeleteRestraint: stays}),
			judge(decide.PruneInput{PruneRestraint: confirm, Confirmed: true}),
			judge(decide.PruneInput{AppDeleted: true, DeleteRestraint: stays, PruneRestraint: never}),
			judge(decide.PruneInput{AppDeleted: true, DeleteRestraint: waits, Confirmed: true}),
			judge(decide.PruneInput{AppDeleted: true, PruneRestraint: never}),
		}
		if diff := cmp.Diff([]string{c.never, c.confirm, c.confirmed, c.stays, c.waits, c.prunes}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.options, diff)
		}
	}
}

func TestAnObjectSaysItselfWhetherItIsPruned(t *testing.T) {
	const flux, argo = "kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/"
	type m = map[string]any
	for _, c := range []struct {
		labels, annotations  m
		pruned, off, withApp string
	}{
		{nil, nil, "deleted", "kept: pruning is off leaving", "deleted"},
		{nil, m{flux + "prune": "Disabled"}, "kept: annotation " + flux + "prune: Disabled", "kept: pruning is off leaving", "kept: annotation " + flux + "prune: Disabled"},
		{m{flux + "reconcile": "disabled"}, nil, "kept: label " + flux + "reconcile: disabled", "kept: pruning is off leaving", "kept: label " + flux + "reconcile: disabled"},
		{nil, m{flux + "ssa": "ignore"}, "kept: annotation " + flux + "ssa: ignore", "kept: pruning is off leaving", "kept: annotation " + flux + "ssa: ignore"},
		{nil, m{flux + "ssa": "IfNotPresent"}, "deleted", "kept: pruning is off leaving", "deleted"},
		{nil, m{argo + "sync-options": "Validate=false, Prune=false"}, "kept: annotation " + argo + "sync-options: Prune=false leaving", "kept: pruning is off leaving", "deleted"},
		{nil, m{argo + "sync-options": "Prune=falsely"}, "deleted", "kept: pruning is off leaving", "deleted"},
		{
			nil, m{argo + "sync-options": "Prune=false", argo + "compare-options": "IgnoreExtraneous"},
			"kept: annotation " + argo + "sync-options: Prune=false extraneous", "kept: pruning is off extraneous", "deleted",
		},
		{nil, m{argo + "compare-options": "IgnoreExtraneous"}, "deleted", "kept: pruning is off extraneous", "deleted"},
		{
			nil, m{argo + "sync-options": "Prune=confirm"},
			"held: ConfigMap shop/web is not pruned without confirmation (" + argo + "sync-options: Prune=confirm); to approve, run truce app approve-prune, or annotate the app with truce.dev/approve-prune=TOKEN",
			"kept: pruning is off leaving", "deleted",
		},
		{nil, m{argo + "sync-options": "Delete=false"}, "deleted", "kept: pruning is off leaving", "forgotten"},
		{nil, m{"helm.sh/resource-policy": "keep"}, "kept: annotation helm.sh/resource-policy: keep", "kept: pruning is off leaving", "kept: annotation helm.sh/resource-policy: keep"},
		{nil, m{argo + "sync-options": "Delete=confirm"}, "deleted", "kept: pruning is off leaving", "forgotten"},
	} {
		got := []string{
			swept(decide.PruneInput{Policy: policy.PruneDelete}, c.labels, c.annotations),
			swept(decide.PruneInput{Policy: policy.PruneReport}, c.labels, c.annotations),
			swept(decide.PruneInput{Policy: policy.PruneDelete, AppDeleted: true}, c.labels, c.annotations),
		}
		if diff := cmp.Diff([]string{c.pruned, c.off, c.withApp}, got); diff != "" {
			t.Errorf("labels %v, annotations %v (-want +got):\n%s", c.labels, c.annotations, diff)
		}
	}
}
