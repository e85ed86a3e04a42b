package decide_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"pgregory.net/rapid"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// life is a Deployment on a real API server to which anything may happen, with truce walking it after each event.
type life struct {
	*street
	t      *testing.T
	client func(agent string) dynamic.ResourceInterface
	git    gitState
	hpa    bool
	rules  []string
	log    []string
}

// gitState is what Git says of the Deployment.
type gitState struct {
	replicas int64 // 0: Git does not name it
	image    string
	env      string // "" for no environment
	sidecar  bool
	note     string // an annotation; "" for none
}

// TestNothingIsLostWhateverHappens lets random things happen, and fails when a write by truce changes a field that is another
// else's, lowers the count of an autoscaled workload, does not end, or leaves Git without what it wants.
func TestNothingIsLostWhateverHappens(t *testing.T) {
	c := kubetest.Start(t)
	ns := c.Namespace(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		l := newLife(t, c, ns, fmt.Sprintf("web-%d", n))
		l.commit(gitState{replicas: 3, image: "web:1", env: "info"})
		l.settle(rt)
		for i := range 6 {
			event := rapid.SampledFrom(events).Draw(rt, fmt.Sprint("event", i))
			l.log = append(l.log, event.name)
			event.happen(l, rt)
			l.settle(rt)
		}
	})
}

var events = []struct {
	name   string
	happen func(l *life, rt *rapid.T)
}{
	{"autoscaler appears", func(l *life, _ *rapid.T) { l.hpa = true }},
	{"autoscaler goes", func(l *life, _ *rapid.T) { l.hpa = false }},
	{"autoscaler scales", func(l *life, rt *rapid.T) {
		if l.hpa {
			l.scale("kube-controller-manager", int64(rapid.IntRange(2, 9).Draw(rt, "count")))
		}
	}},
	{"person scales", func(l *life, rt *rapid.T) { l.scale("kubectl", int64(rapid.IntRange(1, 9).Draw(rt, "count"))) }},
	{"person sets image", func(l *life, _ *rapid.T) {
		l.patch("kubectl-set", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"web:9"}]`)
	}},
	{"person sets image back", func(l *life, _ *rapid.T) {
		l.patch("kubectl-set", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"web:8"}]`)
		l.patch("kubectl-set", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"`+l.git.image+`"}]`)
	}},
	{"person removes environment", func(l *life, _ *rapid.T) {
		if l.git.env != "" {
			l.patch("kubectl-edit", `[{"op":"remove","path":"/spec/template/spec/containers/0/env"}]`)
		}
	}},
	{"person changes an argument", func(l *life, _ *rapid.T) {
		l.patch("kubectl-edit", `[{"op":"replace","path":"/spec/template/spec/containers/0/args/1","value":"--mine"}]`)
	}},
	{"person removes a container", func(l *life, _ *rapid.T) {
		l.patch("kubectl-edit", `[{"op":"remove","path":"/spec/template/spec/containers/1"}]`)
	}},
	{"person puts a container first", func(l *life, _ *rapid.T) {
		l.patch("kubectl-edit", `[{"op":"add","path":"/spec/template/spec/containers/0","value":{"name":"mine","image":"mine:1"}}]`)
	}},
	{"controller writes the environment twice", func(l *life, _ *rapid.T) {
		l.patch("some-operator", `[{"op":"add","path":"/spec/template/spec/containers/0/env/-","value":{"name":"LEVEL","value":"theirs"}}]`)
	}},
	{"controller sets note", func(l *life, _ *rapid.T) {
		l.patch("some-operator", `[{"op":"add","path":"/metadata/annotations","value":{"note":"theirs"}}]`)
	}},
	{"person adds label", func(l *life, _ *rapid.T) {
		l.patch("kubectl-label", `[{"op":"add","path":"/metadata/labels/mine","value":"x"}]`)
	}},
	{"managedFields are reset", func(l *life, _ *rapid.T) {
		l.patch("kubectl-patch", `[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`)
	}},
	{"git names another count", func(l *life, rt *rapid.T) {
		g := l.git
		g.replicas = int64(rapid.IntRange(2, 6).Draw(rt, "count"))
		l.commit(g)
	}},
	{"git drops the count", func(l *life, _ *rapid.T) { g := l.git; g.replicas = 0; l.commit(g) }},
	{"git changes image", func(l *life, rt *rapid.T) {
		g := l.git
		g.image = fmt.Sprint("web:", rapid.IntRange(1, 3).Draw(rt, "version"))
		l.commit(g)
	}},
	{"git changes environment", func(l *life, rt *rapid.T) {
		g := l.git
		g.env = rapid.SampledFrom([]string{"", "info", "warn"}).Draw(rt, "env")
		l.commit(g)
	}},
	{"git toggles sidecar", func(l *life, _ *rapid.T) { g := l.git; g.sidecar = !g.sidecar; l.commit(g) }},
	{"git changes note", func(l *life, rt *rapid.T) {
		g := l.git
		g.note = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "note")
		l.commit(g)
	}},
	{"rules change", func(l *life, rt *rapid.T) {
		l.rules = nil
		for _, r := range []string{"/spec/replicas", "/spec/template/spec/containers/0/image", "/spec/template/spec/containers/1", "/spec/template/spec/containers/0/args/1", "/metadata/annotations", "/spec/template"} {
			if rapid.IntRange(0, 3).Draw(rt, r) == 0 {
				l.rules = append(l.rules, r)
			}
		}
	}},
	{"remediation changes", func(l *life, rt *rapid.T) {
		l.decide.Policy.Remediation = rapid.SampledFrom([]policy.Remediation{policy.Remediate, policy.ReportOnly}).Draw(rt, "remediation")
	}},
	{"somebody deletes it", func(l *life, _ *rapid.T) {
		if err := l.client("kubectl").Delete(l.t.Context(), l.decide.Desired.Name(), metav1.DeleteOptions{}); err != nil {
			l.log = append(l.log, "(refused: "+err.Error()+")") // it may be gone already, with remediation off
		}
		l.decide.Live = nil
	}},
}

func newLife(t *testing.T, c *kubetest.Cluster, ns, name string) *life {
	l := &life{street: newStreet(t, c), t: t}
	l.decide.Policy = policy.Policy{Mode: policy.Enforce, Claims: policy.ClaimsCede, Remediation: policy.Remediate, Pause: policy.PauseReport}
	l.decide.Hasher, l.decide.Now = ownership.NewHasher(), now
	l.compare.Hasher = l.decide.Hasher
	l.decide.Desired = object.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": ns}}
	l.client = func(agent string) dynamic.ResourceInterface {
		config := c.Config()
		config.UserAgent = agent + "/v1"
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(ns)
	}
	return l
}

func (l *life) commit(g gitState) {
	before, name, ns := l.decide.Desired, l.decide.Desired.Name(), l.decide.Desired.Namespace()
	l.git = g
	container := map[string]any{"name": "web", "image": g.image, "args": []any{"--one", "--two"}}
	if g.env != "" {
		container["env"] = []any{map[string]any{"name": "LEVEL", "value": g.env}}
	}
	containers := []any{container}
	if g.sidecar {
		containers = append(containers, map[string]any{"name": "sidecar", "image": "sidecar:1"})
	}
	meta := map[string]any{"name": name, "namespace": ns, "labels": map[string]any{"app": name, object.PartOf: "x.y"}}
	if g.note != "" {
		meta["annotations"] = map[string]any{"note": g.note}
	}
	spec := map[string]any{
		"paused": true, "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": name}}, "spec": map[string]any{"containers": containers}},
	}
	if g.replicas > 0 {
		spec["replicas"] = g.replicas
	}
	l.decide.Desired = object.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
	if field.EqualValues(map[string]any(before), map[string]any(l.decide.Desired)) {
		return
	}
	if l.decide.Previous == nil && !l.decide.Changed && l.compare.Baseline.Known() {
		l.decide.Previous = before
	}
	l.decide.Changed = true
}

func (l *life) scale(agent string, n int64) {
	if _, err := l.client(agent).Patch(l.t.Context(), l.decide.Desired.Name(), types.MergePatchType,
		[]byte(fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)), metav1.PatchOptions{}, "scale"); err != nil {
		l.log = append(l.log, "(refused: "+err.Error()+")")
	}
}

func (l *life) patch(manager, ops string) {
	if !json.Valid([]byte(ops)) {
		l.t.Fatal(ops)
	}
	if _, err := l.client(manager).Patch(l.t.Context(), l.decide.Desired.Name(), types.JSONPatchType, []byte(ops), metav1.PatchOptions{}); err != nil {
		l.log = append(l.log, "(refused: "+err.Error()+")") // what it is about may be gone
	}
}

// settle lets truce see what is, and walk until nothing is left to do.
func (l *life) settle(rt *rapid.T) {
	l.look(l.t)
	l.check = func(t *testing.T, s *street, p decide.Plan, before object.Object) {
		nothingIsLost(t, s, p, before)
		l.neverLowered(rt, p, before)
	}
	before := l.decide.Live
	l.decide.Claims = nil
	if l.hpa {
		l.decide.Claims = claimsOn(l.t, fmt.Sprintf("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: x, namespace: %s}\n"+
			"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %s}, minReplicas: 2, maxReplicas: 9}",
			l.decide.Desired.Namespace(), l.decide.Desired.Name()), claim.Subject{Desired: l.decide.Desired, Live: l.decide.Live, Owners: l.decide.Owners})
	}
	l.refresh = l.refreshRules
	defer func() {
		if l.t.Failed() {
			l.t.Logf("after %s", strings.Join(l.log, ", "))
		}
	}()
	last := l.walk(l.t)
	if l.t.Failed() {
		l.t.Fatalf("after %s\nbefore:\n%s", strings.Join(l.log, ", "), applyBody(before))
	}
	if l.decide.Live != nil && l.decide.Policy.Remediation == policy.Remediate {
		l.gitHasWhatItWants(l.t, last)
		if l.t.Failed() {
			l.t.Fatalf("after %s\nlive:\n%s\n%s", strings.Join(l.log, ", "), applyBody(l.decide.Live), account(l.decide, last))
		}
	}
}

func (l *life) refreshRules() {
	l.decide.Ignored = rules(l.t, strings.Join(l.rules, "\n")).Covers(ignore.Observed{Desired: l.decide.Desired, Live: l.decide.Live, Owners: l.decide.Owners})
}

// neverLowered fails when a write has lowered the count of a workload that an autoscaler or a rule has a right to.
func (l *life) neverLowered(rt *rapid.T, p decide.Plan, before object.Object) {
	was, _ := before.At("spec", "replicas").(int64)
	is, _ := l.decide.Live.At("spec", "replicas").(int64)
	if before != nil && l.hpa && is < was {
		rt.Fatalf("after %s the count went from %d to %d:\n%s", strings.Join(l.log, ", "), was, is, account(l.decide, p))
	}
}
