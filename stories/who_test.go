package stories

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestLongWhoItWas plays a day of writers of many kinds, and judges each attribution by the API server's audit log: a writer who is named as
// recorded or inferred and has not sent the request is wrong. Nothing may be wrong; at least 85 % are named without the admission
// witness, and at least 98 % with it. The short form plays one round.
func TestLongWhoItWas(t *testing.T) {
	rounds := 1
	if !testing.Short() {
		rounds = 6
	}
	for name, mode := range map[string]struct {
		mode  policy.Mode
		place attribution.Place
		least float64
	}{
		"enforce":                  {policy.Enforce, attribution.Place{}, 0.85},
		"enforce with the witness": {policy.Enforce, loopback, 0.98},
		"observe":                  {policy.Observe, attribution.Place{}, 0.85},
		"observe with the witness": {policy.Observe, loopback, 0.98},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDay(t, rounds, mode.mode, mode.place)
			d.play()
			d.judge(mode.least)
		})
	}
}

// request is one write of a day: who sends it, and the value that it leaves in the field.
type request struct {
	user string
	live any
	send func(d *day, r request, name string) error
}

// played is a kind of writer: what is done to one object, and the field that differs then.
type played struct {
	name     string
	kind     schema.GroupVersionResource
	path     string
	requests []request
	mutated  bool // admission changes the field in the request
}

const mainImage = ".spec.template.spec.containers[name=main].image"

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// scenes are the kinds of writers.
func playedKinds() []played {
	one := func(name string, kind schema.GroupVersionResource, path string, live any, send func(d *day, r request, name string) error) played {
		return played{name: name, kind: kind, path: path, requests: []request{{user: "who-" + name, live: live, send: send}}}
	}
	two := func(s played, live any, send func(d *day, r request, name string) error) played {
		s.requests = append(s.requests, request{user: "who-" + s.name + "-second", live: live, send: send})
		return s
	}
	const replicas, note = ".spec.replicas", ".metadata.annotations.note"
	return []played{
		one("scale", deployments, replicas, int64(1), kubectl("scale", "deployment/NAME", "--replicas=1")),
		one("patch", deployments, replicas, int64(2), patch(types.MergePatchType, "kubectl-patch", `{"spec":{"replicas":2}}`)),
		one("edit", deployments, mainImage, "edited:1", patch(types.StrategicMergePatchType, "kubectl-edit", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"edited:1"}]}}}}`)),
		one("set-image", deployments, mainImage, "set:1", kubectl("set", "image", "deployment/NAME", "main=set:1")),
		one("restart", deployments, `.spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`, nil, patch(types.StrategicMergePatchType, "kubectl-rollout", `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-11-22T20:00:00Z"}}}}}`)),
		one("annotate", configmaps, note, "annotated", patch(types.MergePatchType, "kubectl-annotate", `{"metadata":{"annotations":{"note":"annotated"}}}`)),
		one("label", configmaps, ".metadata.labels.team", "labelled", kubectl("label", "--overwrite", "configmap/NAME", "team=labelled")),
		one("unlabel", configmaps, ".metadata.labels.team", nil, patch(types.MergePatchType, "kubectl-label", `{"metadata":{"labels":{"team":null}}}`)),
		one("delete", configmaps, ".", nil, remove),
		one("secret", secrets, ".data.password", nil, patch(types.MergePatchType, "kubectl-edit", `{"data":{"password":"b3RoZXI="}}`)),
		one("apply", configmaps, ".data.a", "applied", apply("kubectl", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"data":{"a":"applied"}}`)),
		one("update", deployments, replicas, int64(3), update("", func(o map[string]any) error { return unstructured.SetNestedField(o, int64(3), "spec", "replicas") })),
		one("update-named", configmaps, ".data.a", "updated", update("widget-operator", func(o map[string]any) error { return unstructured.SetNestedField(o, "updated", "data", "a") })),
		one("controller-apply", deployments, replicas, int64(4), apply("other-gitops", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"NAME"},"spec":{"replicas":4}}`)),
		one("json-patch", configmaps, ".data.a", "patched", patch(types.JSONPatchType, "patcher", `[{"op":"replace","path":"/data/a","value":"patched"}]`)),
		one("scale-controller", deployments, replicas, int64(2), patch(types.MergePatchType, "knative", `{"spec":{"replicas":2}}`, "scale")),
		one("status", deployments, note, "by-status", patch(types.MergePatchType, "status-writer", `{"metadata":{"annotations":{"note":"by-status"}}}`, "status")),
		one("impostor", deployments, replicas, int64(2), patch(types.MergePatchType, "kube-controller-manager", `{"spec":{"replicas":2}}`, "scale")),
		one("impostor-hpa", deployments, replicas, int64(3), patch(types.MergePatchType, "kube-controller-manager", `{"spec":{"replicas":3}}`, "scale")),
		one("person-hpa", deployments, replicas, int64(3), patch(types.MergePatchType, "kubectl", `{"spec":{"replicas":3}}`, "scale")),
		one("remove-and-set", configmaps, ".data.b", nil, patch(types.JSONPatchType, "cleaner", `[{"op":"remove","path":"/data/b"},{"op":"add","path":"/data/c","value":"x"}]`)),
		{name: "mutated", kind: deployments, path: mainImage, mutated: true, requests: []request{{
			user: "who-mutated", live: "mutated:1", send: patch(types.MergePatchType, "kubectl-annotate", `{"metadata":{"annotations":{"who.example/mutate":"mutated:1"}}}`),
		}}},
		two(one("same-value", configmaps, ".data.a", "git", patch(types.MergePatchType, "same", `{"data":{"a":"git"}}`)),
			"real", patch(types.MergePatchType, "real", `{"data":{"a":"real"}}`)),
		two(one("two", configmaps, ".data.a", "first", patch(types.MergePatchType, "first", `{"data":{"a":"first"}}`)),
			"second", patch(types.MergePatchType, "second", `{"data":{"a":"second"}}`)),
		two(one("same-manager", configmaps, ".data.a", "first", patch(types.MergePatchType, "kubectl-patch", `{"data":{"a":"first"}}`)),
			"second", patch(types.MergePatchType, "kubectl-patch", `{"data":{"a":"second"}}`)),
		{name: "hpa", kind: deployments, path: replicas},
		one("helm", configmaps, ".data.a", "helm", patch(types.MergePatchType, "helm", `{"data":{"a":"helm"}}`)),
		one("k9s", deployments, replicas, int64(1), patch(types.MergePatchType, "k9s", `{"spec":{"replicas":1}}`)),
		one("set-env", deployments, ".spec.template.spec.containers[name=main].env[name=LEVEL].value", "debug", patch(types.StrategicMergePatchType, "kubectl-set", `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"LEVEL","value":"debug"}]}]}}}}`)),
		one("resources", deployments, ".spec.template.spec.containers[name=main].resources.requests.cpu", "200m", patch(types.StrategicMergePatchType, "kubectl-set", `{"spec":{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"200m"}}}]}}}}`)),
		one("resize", deployments, replicas, int64(5), patch(types.MergePatchType, "shop-operator", `{"spec":{"replicas":5},"metadata":{"annotations":{"shop.example/seen":"yes"}}}`)),
	}
}

// kubectl sends by the program itself.
func kubectl(args ...string) func(d *day, r request, name string) error {
	return func(d *day, r request, name string) error {
		all := []string{"--as=" + r.user, "--as-group=system:masters"}
		for _, a := range args {
			all = append(all, strings.ReplaceAll(a, "NAME", name))
		}
		d.kubectl(all...)
		return nil
	}
}

// patch sends as kubectl's verbs and controllers do, by the field manager that they name.
func patch(form types.PatchType, manager, body string, sub ...string) func(d *day, r request, name string) error {
	return func(d *day, r request, name string) error {
		_, err := d.as(r.user, name).Patch(d.ctx, name, form, []byte(body), metav1.PatchOptions{FieldManager: manager}, sub...)
		return err
	}
}

func remove(d *day, r request, name string) error {
	return d.as(r.user, name).Delete(d.ctx, name, metav1.DeleteOptions{})
}

func apply(manager, body string) func(d *day, r request, name string) error {
	return func(d *day, r request, name string) error {
		o := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(body, "NAME", name)), o); err != nil {
			return err
		}
		_, err := d.as(r.user, name).Apply(d.ctx, name, o, metav1.ApplyOptions{FieldManager: manager, Force: true})
		return err
	}
}

func update(manager string, change func(map[string]any) error) func(d *day, r request, name string) error {
	return func(d *day, r request, name string) error {
		client := d.as(r.user, name)
		for {
			o, err := client.Get(d.ctx, name, metav1.GetOptions{})
			if err == nil {
				err = change(o.Object)
			}
			if err == nil {
				_, err = client.Update(d.ctx, o, metav1.UpdateOptions{FieldManager: manager})
			}
			if err == nil || d.ctx.Err() != nil || !strings.Contains(err.Error(), "the object has been modified") {
				return err
			}
		}
	}
}

// day is a world with an object for each played of each round.
type day struct {
	controller.NoObserver
	*world
	mode   policy.Mode
	scenes map[string]played // by object

	mu    sync.Mutex
	said  map[string][]report.Finding // by object: of the played's field
	heard chan struct{}
}

func newDay(t *testing.T, rounds int, mode policy.Mode, place attribution.Place) *day {
	d := &day{mode: mode, scenes: map[string]played{}, said: map[string][]report.Finding{}, heard: make(chan struct{}, 1)}
	var files, all strings.Builder
	for round := range rounds {
		for _, s := range playedKinds() {
			name := fmt.Sprintf("%s-%d", s.name, round)
			d.scenes[name] = s
			text := manifestOf(s, name)
			fmt.Fprintf(&files, "-- %s.yaml --\n%s", name, text)
			all.WriteString("---\n" + text)
		}
	}
	d.world = offWorld(t, files.String())
	d.policy()
	if mode == policy.Observe {
		d.ApplyAs(t, "kustomize-controller", strings.ReplaceAll(all.String(), "NAMESPACE", d.ns))
	}
	d.run(compose.RunOptions{Settings: controller.Settings{Process: policy.Policy{Mode: mode, Additions: policy.AdditionsAllow}, Witness: place}, Observer: d})
	d.app("web", "./", defaultSpec)
	d.begun()
	if place != (attribution.Place{}) {
		d.seenBy("annotate-0")
	}
	return d
}

func manifestOf(s played, name string) string {
	switch s.kind {
	case configmaps:
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: NAMESPACE, annotations: {note: git}, labels: {team: git}}\ndata: {a: git, b: git}\n", name)
	case secrets:
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: NAMESPACE}\ndata: {password: Z2l0}\n", name)
	}
	paused, count := "true", 0 // so that there are no pods
	if strings.HasSuffix(s.name, "hpa") {
		paused, count = "false", 2
	}
	text := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: NAMESPACE, annotations: {note: git}}
spec:
  replicas: %[3]d
  paused: %[2]s
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {kubectl.kubernetes.io/restartedAt: git}}
    spec: {containers: [{name: main, image: "git:1", env: [{name: LEVEL, value: info}], resources: {requests: {cpu: 100m}}}]}
`, name, paused, count)
	if strings.HasSuffix(s.name, "hpa") {
		text += fmt.Sprintf(`---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[1]s, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  minReplicas: 2
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
  behavior: {scaleDown: {selectPolicy: Disabled}}
`, name)
	}
	return text
}

// policy changes the image of a Deployment in the request that asks for it by an annotation, and in no other.
func (d *day) policy() {
	d.admit("UPDATE", `
  matchConditions:
  - name: asked
    expression: >
      has(object.metadata.annotations) && "who.example/mutate" in object.metadata.annotations &&
      !(has(oldObject.metadata.annotations) && "who.example/mutate" in oldObject.metadata.annotations)
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: object.metadata.annotations["who.example/mutate"]}]
`)
	d.Apply(d.t, strings.ReplaceAll(manifestOf(played{name: "probe", kind: deployments}, "probe"), "NAMESPACE", d.ns))
	for asked := []byte(`{"metadata":{"annotations":{"who.example/mutate":"mutated:1"}}}`); ; { // the server takes the policy up after a moment
		o, err := d.dynamic().Resource(deployments).Namespace(d.ns).Patch(d.ctx, "probe", types.MergePatchType, asked, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			d.t.Fatal(err)
		}
		if text, err := o.MarshalJSON(); err == nil && strings.Contains(string(text), `"image":"mutated:1"`) {
			return
		}
	}
}

// as is a connection in the name of a user, by whose client the object's played is played.
func (d *day) as(user, name string) dynamic.ResourceInterface {
	config := d.Config()
	config.UserAgent = "who-client/1.0 (linux/amd64)"
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		d.t.Fatal(err)
	}
	return client.Resource(d.scenes[name].kind).Namespace(d.ns)
}

// OnFinding keeps what truce says of the fields of the scenes.
func (d *day) OnFinding(n report.FindingEvent) {
	s, ok := d.scenes[n.ID.Name]
	if !ok || field.PathString(n.Finding.Path) != s.path || n.ID.Kind == "HorizontalPodAutoscaler" {
		return
	}
	d.mu.Lock()
	d.said[n.ID.Name] = append(d.said[n.ID.Name], n.Finding)
	d.mu.Unlock()
	select {
	case d.heard <- struct{}{}:
	default:
	}
}

// begun waits until truce has compared every object, and forgets what it has said so far.
func (d *day) begun() {
	key := app.Key{Kind: "Kustomization", Namespace: d.ns, Name: "web"}
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		r := d.running.Engine.Report(key)
		judged := 0
		for _, o := range r.Objects {
			if o.Judged {
				judged++
			}
		}
		if judged >= len(d.scenes) && judged == len(r.Objects) {
			break
		}
		if d.ctx.Err() != nil {
			d.t.Fatal("truce does not compare all objects")
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.said)
}

// seenBy waits until the API server asks the witness about an object.
func (d *day) seenBy(name string) {
	id := object.ID{Kind: "ConfigMap", Namespace: d.ns, Name: name}
	for n := 0; len(d.running.Engine.Witnesses.Writes.Of(id)) == 0; n++ {
		d.kubectl("annotate", "--overwrite", "configmap/"+name, fmt.Sprintf("who.example/try=%d", n))
		if d.ctx.Err() != nil {
			d.t.Fatal("the API server does not ask the witness")
		}
	}
}

// play sends all requests, the scenes in a random order.
func (d *day) play() {
	names := make([]string, 0, len(d.scenes))
	for name := range d.scenes {
		names = append(names, name)
	}
	slices.Sort(names)
	random := rand.New(rand.NewPCG(1, uint64(len(names))))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		s := d.scenes[name]
		if s.name == "hpa" {
			d.annotate(deployments, name, "sandbox.truce.dev/cpu-total", "245m")
		}
		for _, r := range s.requests {
			if err := r.send(d, r, name); err != nil {
				d.t.Fatalf("%s: %v", name, err)
			}
		}
	}
	limit := time.After(patience)
	for {
		silent := d.silent()
		if len(silent) == 0 {
			return
		}
		select {
		case <-d.heard:
		case <-limit:
			d.t.Fatalf("truce says nothing of %s", strings.Join(silent, ", "))
		}
	}
}

// silent lists the objects of which truce has not yet said what the last request left.
func (d *day) silent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for name, s := range d.scenes {
		last := len(s.requests) - 1
		done := func(f report.Finding) bool {
			return last < 0 || s.requests[last].live == nil || field.EqualValues(f.Live, s.requests[last].live)
		}
		if !slices.ContainsFunc(d.said[name], done) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// judge holds each attribution against the audit log.
func (d *day) judge(least float64) {
	log := map[string][]kubetest.Entry{}
	for _, e := range d.Audit(d.t, func(e kubetest.Entry) bool { return e.Namespace == d.ns && e.Writes() && !d.byTruce(e) }) {
		if _, ok := d.scenes[e.Name]; ok && e.Resource.Resource == d.scenes[e.Name].kind.Resource {
			log[e.Name] = append(log[e.Name], e)
		}
	}
	key := app.Key{Kind: "Kustomization", Namespace: d.ns, Name: "web"}
	for _, o := range d.running.Engine.Report(key).Objects { // a remaining difference is reported under the same name later
		if s, ok := d.scenes[o.ID.Name]; ok && o.ID.Kind != "HorizontalPodAutoscaler" {
			for _, f := range o.Findings {
				if field.PathString(f.Path) == s.path {
					d.said[o.ID.Name] = append(d.said[o.ID.Name], f)
				}
			}
		}
	}
	all, named := 0, 0
	var unnamed []string
	for name, findings := range d.said {
		for _, f := range findings {
			all++
			by, right := d.scenes[name].verdict(f, log[name])
			switch {
			case by == "":
				unnamed = append(unnamed, name)
			case !right:
				d.t.Errorf("%s: %s at %v by %s (%s), and the audit log says: %s", name, f.Path, f.Live, f.Writer, f.Writer.Evidence, by)
			default:
				named++
			}
		}
	}
	slices.Sort(unnamed)
	share := float64(named) / float64(all)
	d.t.Logf("%d attributions, %.1f %% named; unknown: %s", all, 100*share, strings.Join(slices.Compact(unnamed), ", "))
	if share < least {
		d.t.Errorf("%.1f %% are named, want %.0f %%", 100*share, 100*least)
	}
}

// verdict says by whom the audit log has the write that a finding is about, and whether the finding names that one; no one for a writer that
// is not known.
func (s played) verdict(f report.Finding, log []kubetest.Entry) (by string, right bool) {
	w := f.Writer
	if w.Name == "" || w.Evidence != ownership.Recorded && w.Evidence != ownership.Inferred {
		return "", true
	}
	var e kubetest.Entry
	for _, x := range log {
		if s.sent(x, f.Live) {
			e = x
		}
	}
	manager, _, _ := strings.Cut(e.Agent, "/")
	if e.Manager != "" {
		manager = e.Manager
	}
	by = fmt.Sprintf("%s %s by %s as %s", e.Verb, e.Subresource, manager, e.User)
	hpa := strings.Contains(e.Agent, "horizontal-pod-autoscaler")
	switch {
	case e.Verb == "":
		return "nobody", false
	case w.User != "" && w.User != e.User:
		return by, false
	case s.mutated || w.Name == attribution.Admission:
		return by + ", changed by admission", s.mutated && w.Name == attribution.Admission && (w.During == "" || strings.HasPrefix(w.During, manager))
	case strings.HasPrefix(w.Name, "HPA ") || hpa:
		return by, hpa && e.Subresource == "scale"
	case w.Manager != "":
		return by, w.Manager == manager && w.Subresource == e.Subresource
	}
	return by, w.User == e.User
}

// sent reports whether a request is one that has left the value.
func (s played) sent(e kubetest.Entry, live any) bool {
	if len(s.requests) == 0 {
		return strings.Contains(e.Agent, "horizontal-pod-autoscaler")
	}
	for _, r := range s.requests {
		if e.User == r.user {
			return r.live == nil || field.EqualValues(r.live, live)
		}
	}
	return false
}
