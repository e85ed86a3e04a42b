package preflight_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/permissions"
	"github.com/truce-gitops/truce/internal/view/preflight"
)

// good are facts without anything to say about them.
func good() preflight.Facts {
	return preflight.Facts{
		Server: "v1.37.0", Installed: &preflight.Installation{Deployment: "truce-system/truce", Account: "truce-system/truce", Ready: 2, Wanted: 2},
		Permissions: []preflight.Permission{{Rule: permissions.ControllerRules()[0], Verb: "get", Resource: "kustomizations", Allowed: true}},
		Definitions: []preflight.Definition{{Kind: "Kustomization", Version: "v1", Served: true, Owner: "flux"}},
		Clocks:      []preflight.Clock{{Of: "this machine", Ahead: time.Second}}, Git: preflight.Git{Program: "/usr/bin/git"},
	}
}

func TestNothingIsInTheWay(t *testing.T) {
	found := preflight.JudgeFacts(good())
	for _, f := range found {
		if f.Severity != preflight.OK {
			t.Errorf("%+v", f)
		}
	}
	if preflight.HasProblem(found) || len(found) != 9 {
		t.Errorf("%d findings: %+v", len(found), found)
	}
}

// TestEachFactHasItsFinding changes one fact, and compares what is found besides OK.
func TestEachFactHasItsFinding(t *testing.T) {
	installed := func(f *preflight.Facts) *preflight.Installation { i := *f.Installed; f.Installed = &i; return &i }
	refused := func(r permissions.Rule) []preflight.Permission {
		return []preflight.Permission{{Rule: r, Verb: "list", Resource: "things", Namespace: "team-a"}}
	}
	for name, test := range map[string]struct {
		change func(*preflight.Facts)
		want   string
	}{
		"not installed":  {func(f *preflight.Facts) { f.Installed = nil }, "notice controller: no Deployment with the label app.kubernetes.io/name=truce"},
		"not ready":      {func(f *preflight.Facts) { installed(f).Ready = 0 }, "problem controller: 0 of 2 replicas ready"},
		"a right":        {func(f *preflight.Facts) { f.Permissions = refused(permissions.Rule{For: "live"}) }, "problem permissions: may not list things in namespace team-a (to live)"},
		"a lesser right": {func(f *preflight.Facts) { f.Permissions = refused(permissions.Rule{For: "see", Without: "blind"}) }, "warning permissions: may not list things in namespace team-a (to see): blind"},
		"of every kind": {func(f *preflight.Facts) {
			f.Permissions = refused(permissions.Rule{})
			f.Permissions[0].Replaceable = true
		}, "notice permissions: may not list things"},
		"not served":     {func(f *preflight.Facts) { f.Definitions[0].Served = false }, "warning definitions: not served in v1: custom resources of this kind are not seen"},
		"not served yet": {func(f *preflight.Facts) { f.Definitions[0].Served, f.Installed = false, nil }, "notice controller: no Deployment with the label app.kubernetes.io/name=truce: truce is not installed, or runs elsewhere\nnotice definitions: not served in v1"},
		"drops":          {func(f *preflight.Facts) { f.Definitions[0].Drops = []string{"spec.x"} }, "notice definitions: served in v1, installed by flux; it does not keep spec.x"},
		"ahead":          {func(f *preflight.Facts) { f.Clocks[0].Ahead = 7 * time.Second }, "warning clock: 7s ahead of the API server's"},
		"far behind":     {func(f *preflight.Facts) { f.Clocks[0].Ahead = -time.Hour }, "problem clock: 1h0m0s behind the API server's"},
		"no git":         {func(f *preflight.Facts) { f.Git.Problem = "git is not on PATH" }, "warning git: git is not on PATH"},
		"two instances": {func(f *preflight.Facts) {
			f.Overlaps = []preflight.Overlap{{"ConfigMap a/truce-controller", "ConfigMap b/truce-controller", []string{"team-a"}}}
		}, "warning other instances: works for the same namespaces as the instance of ConfigMap b/truce-controller (team-a): both write there"},
		"one state for two": {func(f *preflight.Facts) {
			f.SharedStates = []preflight.SharedState{{"Deployment a/truce", "Deployment b/truce", "truce-system"}}
		}, "warning other instances: works for other namespaces than Deployment a/truce, and has its state in namespace truce-system, too: one of them stands by for the other, or each overwrites what the other keeps there"},
		"beside, observed": {func(f *preflight.Facts) {
			f.Others = []preflight.Other{{"Flux", "Lease held"}}
			installed(f).Observes = true
		}, "notice other controllers: Lease held"},
		"beside, enforced": {func(f *preflight.Facts) { f.Others = []preflight.Other{{"Flux", "Lease held"}} }, "problem other controllers: Lease held, and truce enforces apps: both write the same objects"},
		"both on one app":  {func(f *preflight.Facts) { f.Apps = []preflight.App{{"Kustomization shop/web", "kustomize-controller"}} }, "problem other controllers: truce enforces it, and kustomize-controller has written its status last"},
		"a webhook": {func(f *preflight.Facts) {
			f.Webhooks = []preflight.Webhook{{"MutatingWebhookConfiguration x", []string{"Pod"}}}
		}, "notice webhooks: may change objects of apps: Pod"},
		"unread": {func(f *preflight.Facts) { f.Unread = map[string]string{"clock": "no answer"} }, "warning clock: not checked: no answer"},
	} {
		facts := good()
		test.change(&facts)
		var got []string
		for _, f := range preflight.JudgeFacts(facts) {
			if f.Severity != preflight.OK {
				got = append(got, fmt.Sprintf("%s %s: %s", f.Severity, f.Check, f.Message))
			}
		}
		if !strings.HasPrefix(strings.Join(got, "\n"), test.want) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(test.want, strings.Join(got, "\n")))
		}
		if is := strings.HasPrefix(test.want, "problem"); preflight.HasProblem(preflight.JudgeFacts(facts)) != is {
			t.Errorf("%s: a problem: %v, want %v", name, !is, is)
		}
	}
}
