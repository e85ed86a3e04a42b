package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAnApplicationTellsWhatPeopleAddAndLeavesIt: Argo CD itself neither shows nor removes it.
func TestAnApplicationTellsWhatPeopleAddAndLeavesIt(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	w.application("my-app", "apps/my-app", automated)
	w.inSync("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.kubectl("label", "deployment/my-app", "hand=x")
	w.held(w.ofArgo(), ".metadata.labels.hand", "kubectl-label", "reported only (truce.dev/additions: correct takes them away)")
	t.Log(w.argoCondition("my-app", "FieldsAdded", ".metadata.labels.hand (added by kubectl-label: "))
	o := w.inSync("my-app")
	if list := entries(o, "status", "resources"); len(list) != 1 || list[0]["status"] != "Synced" {
		t.Errorf("resources: %v, want the Deployment Synced: Git does not name what was added", list)
	}
	if phase, message := w.order("my-app", `{"sync":{}}`); phase != "Succeeded" {
		t.Errorf("a sync: %s: %s", phase, message)
	}
	w.heals(d, labelled("hand", "x"))
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.await(d, func(o *unstructured.Unstructured) bool {
		return image(o) == "nginx:1.22.0" && o.GetLabels()["hand"] == "x"
	})

	w.annotate(applications, "my-app", "truce.dev/additions", "correct")
	w.await(d, labelled("hand", ""))
	w.inSync("my-app")
	w.returns(t, d, func() { w.kubectl("set", "env", "deployment/my-app", "EXTRA=1") })
	w.inSync("my-app")
}

// TestWhatAnUnknownProgramAddsIsToldAndTakenAwayOnRequest: with a container and hostNetwork it could be a sidecar injector, or an intruder.
func TestWhatAnUnknownProgramAddsIsToldAndTakenAwayOnRequest(t *testing.T) {
	w, d := myApp(t, "")
	before := content(last(d))
	w.adds("some-tool", `{"spec":{"template":{"spec":{"hostNetwork":true,"containers":[{"name":"agent","image":"agent:1"}]}}}}`)
	const why = "added by some-tool, which is no tool of people: reported only"
	w.held(w.ofFlux(), ".spec.template.spec.hostNetwork", "some-tool", why)
	w.held(w.ofFlux(), ".spec.template.spec.containers[name=agent]", "some-tool", why)
	t.Log(w.condition("my-app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return contains(c["message"], "2 additions reported: ") && contains(c["message"], "hostNetwork") && contains(c["message"], "containers[name=agent]")
	}))
	w.intervals("my-app", 1)
	for _, c := range w.conditions("my-app") {
		if c["type"] == "Drifted" {
			t.Errorf("a reported addition is no drift: %v", c)
		}
	}
	w.heals(d, func(o *unstructured.Unstructured) bool {
		host, _, _ := unstructured.NestedBool(o.Object, "spec", "template", "spec", "hostNetwork")
		return host && container(o, "agent") != nil
	})
	w.annotate(kustomizations, "my-app", "truce.dev/additions", "correct")
	w.becomesAgain(d, before)
}

// TestWithRemediationOffAnAdditionIsOnlyTold is about one of a person.
func TestWithRemediationOffAnAdditionIsOnlyTold(t *testing.T) {
	w, d := myApp(t, "\nremediation: {remediate: false}")
	w.kubectl("label", "deployment/my-app", "hand=x")
	w.held(w.ofFlux(), ".metadata.labels.hand", "kubectl-label", "remediation is off")
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.ready("my-app")
	w.await(d, func(o *unstructured.Unstructured) bool {
		return image(o) == "nginx:1.22.0" && o.GetLabels()["hand"] == "x"
	})
	w.app("my-app", "./apps/my-app", defaultSpec+"\nremediation: {remediate: true}")
	w.await(d, labelled("hand", ""))
}

// TestASuspendedAppKeepsAdditionsUntilItIsResumed is about one of a person, and about a look that is asked for meanwhile.
func TestASuspendedAppKeepsAdditionsUntilItIsResumed(t *testing.T) {
	w, d := myApp(t, "")
	w.suspend("my-app")
	w.kubectl("label", "deployment/my-app", "hand=x")
	w.held(w.ofFlux(), ".metadata.labels.hand", "kubectl-label", "the app is suspended")
	if n := len(w.writes("my-app")); n != 1 {
		t.Errorf("%d writes while suspended, want only the creation before", n)
	}
	w.kubectl("patch", "kustomization/my-app", "--type=merge", `-p={"spec":{"suspend":false}}`)
	w.await(d, labelled("hand", ""))
}

// TestAnAdditionThatComesBackAgainAndAgainIsContested is about a program that adds what it does not find.
func TestAnAdditionThatComesBackAgainAndAgainIsContested(t *testing.T) {
	w := newWorld(t, policy.Policy{Additions: policy.AdditionsCorrect}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	const path = ".metadata.labels.tool"
	removals := 0
	for contested := false; !contested; {
		before := len(d.Values())
		w.adds("some-tool", `{"metadata":{"labels":{"tool":"x"}}}`)
		w.until("an answer to the addition", func() bool {
			added, gone := false, false
			for _, v := range d.Values()[before:] {
				added = added || v.Object.GetLabels()["tool"] == "x"
				gone = gone || added && v.Object.GetLabels()["tool"] == ""
			}
			if gone {
				removals++
				return true
			}
			contested = w.verdict(path) == decide.Contested
			return contested
		})
		if removals > fight.MaxCorrections {
			t.Fatalf("taken away %d times, want at most %d", removals, fight.MaxCorrections)
		}
	}
	message := w.condition("my-app", "Contested", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	t.Logf("%d removals: %s", removals, message)
	if f := w.finds(w.ofFlux(), path, func(f report.Finding) bool { return f.Verdict == decide.Contested }); f.Writer.Manager != "some-tool" || !contains(message, "labels.tool") || !contains(message, "some-tool") {
		t.Errorf("told by %+v: %s", f.Writer, message)
	}
	w.heals(d, labelled("tool", "x"))
}

// verdict is what truce's report says now of a field of the story's Kustomization; empty for nothing.
func (w *world) verdict(path string) decide.Verdict {
	for _, o := range w.running.Engine.Report(w.ofFlux()).Objects {
		for _, f := range o.Findings {
			if field.PathString(f.Path) == path {
				return f.Verdict
			}
		}
	}
	return ""
}
