package stories

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// subject is an object with a count, to which a random history happens.
type subject struct {
	kind, name string
	birth      string // who makes it
	at         schema.GroupVersionResource
	watch      *kubetest.Recorder

	git    string // what Git says of the count: "3", "null", "" for nothing
	colour int    // of another field, which Git changes now and then
	claim  string // hpa, keda, "" for none
	fresh  bool   // Git has changed since truce was last at rest

	by     map[string]string // by the resourceVersion that it made: who wrote, where it was the story
	guards []guard           // spans in which truce must not change the count
	lines  []string          // the history
	drops  []drop
}

// guard is a span of time in which the count is not truce's: it is claimed, or Git does not name it.
type guard struct{ from, to time.Time }

// drop is a moment at which the count leaves Git.
type drop struct {
	at   time.Time
	live int64
}

const workload = `
apiVersion: apps/v1
kind: %[1]s
metadata: {name: %[2]s, namespace: NAMESPACE, annotations: {colour: "%[4]d"}}
spec:
  %[3]s
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: {containers: [{name: web, image: "nginx:1.21.0", resources: {requests: {cpu: 10m}}}]}
`

const crewText = `
apiVersion: NAMESPACE.example.com/v1
kind: %[1]s
metadata: {name: %[2]s, namespace: NAMESPACE}
spec: {colour: "%[4]d", workers: {%[3]s}}
`

func (x *subject) custom() bool { return x.kind == "Crew" || x.kind == "Guild" }

// manifest is the object with a count in YAML; "" names none.
func (x *subject) manifest(ns, count string) string {
	text, key := workload, "replicas: "
	if x.custom() {
		text, key = crewText, "count: "
	}
	if count == "" {
		key = ""
	}
	return strings.ReplaceAll(fmt.Sprintf(text, x.kind, x.name, key+count, x.colour), "NAMESPACE", ns)
}

func (x *subject) file() string { return "app/" + x.name + ".yaml" }

func (x *subject) apiVersion(ns string) string {
	if x.custom() {
		return ns + ".example.com/v1"
	}
	return "apps/v1"
}

// count reads the object's count, -1 where it has none.
func (x *subject) count(o *unstructured.Unstructured) int64 {
	if x.custom() {
		return crew(o)
	}
	return replicas(o)
}

func (x *subject) live() int64 {
	all := x.watch.Values()
	if len(all) == 0 {
		return -1
	}
	return x.count(all[len(all)-1].Object)
}

func (x *subject) say(format string, args ...any) {
	x.lines = append(x.lines, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// begin is the birth of an object that truce does not make.
func (s *saga) born(x *subject) {
	count := s.pick("", "4", "5")
	x.say("%s %s is born by %s with count %q", x.kind, x.name, x.birth, count)
	text := x.manifest(s.ns, count)
	if x.birth == "kubectl apply" {
		path := filepath.Join(s.t.TempDir(), "manifest.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
		s.kubectl("apply", "-f", path)
		return
	}
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		s.t.Fatal(err)
	}
	manager := map[string]string{"helm": "helm", "POST": "curl"}[x.birth]
	_, err := s.client.Resource(x.at).Namespace(s.ns).Create(s.ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		s.t.Fatal(err)
	}
}

// scale writes the count as a given user, by the scale subresource or by the object itself.
func (s *saga) scale(x *subject, who, manager string, n int64, sub ...string) {
	body := map[string]any{"spec": map[string]any{"replicas": n}}
	if x.custom() && len(sub) == 0 {
		body = map[string]any{"spec": map[string]any{"workers": map[string]any{"count": n}}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.client.Resource(x.at).Namespace(s.ns).Patch(s.ctx, x.name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: manager}, sub...)
	if err != nil {
		x.say("%s cannot scale to %d: %v", who, n, err)
		return
	}
	x.by[answer.GetResourceVersion()] = who
	x.say("%s scales to %d (version %s)", who, n, answer.GetResourceVersion())
}

// claimant is the manifest of one.
func (s *saga) claimant(x *subject, least, most int) string {
	text := `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: %[2]s, namespace: %[3]s}
spec: {scaleTargetRef: {apiVersion: %[4]s, kind: %[1]s, name: %[2]s}, minReplicaCount: %[5]d, maxReplicaCount: %[6]d}
`
	if x.claim == "hpa" {
		text = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[2]s, namespace: %[3]s}
spec: {scaleTargetRef: {apiVersion: %[4]s, kind: %[1]s, name: %[2]s}, minReplicas: %[5]d, maxReplicas: %[6]d}
`
	}
	return fmt.Sprintf(text, x.kind, x.name, s.ns, x.apiVersion(s.ns), least, most)
}

// guarded notes from when, or until when, the count is not truce's.
func (x *subject) guarded(is bool) {
	n := len(x.guards)
	open := n > 0 && x.guards[n-1].to.IsZero()
	switch {
	case is && !open:
		x.watch.Values() // what truce wrote before is recorded before
		x.guards = append(x.guards, guard{from: time.Now()})
	case !is && open:
		x.guards[n-1].to = time.Now()
	}
}

func (x *subject) isGuarded(at time.Time) bool {
	for _, g := range x.guards {
		if at.After(g.from) && (g.to.IsZero() || at.Before(g.to)) {
			return true
		}
	}
	return false
}

// judge looks at each value that the object ever had, and returns what truce has done to a count that was not its own.
func (x *subject) judge() (wrong []string) {
	all := x.watch.Values()
	for i := 1; i < len(all); i++ {
		before, now := x.count(all[i-1].Object), x.count(all[i].Object)
		if before == now || all[i].Event == "DELETED" || x.by[all[i].Object.GetResourceVersion()] != "" || !truceWrote(all[i-1].Object, all[i].Object) {
			continue
		}
		x.lines = append(x.lines, fmt.Sprintf("%s truce writes %d over %d (version %s)", all[i].At.Format("15:04:05.000"), now, before, all[i].Object.GetResourceVersion()))
		if x.isGuarded(all[i].At) && before >= 0 {
			wrong = append(wrong, fmt.Sprintf("%s %s: truce writes %d over %d at %s (version %s)", x.kind, x.name, now, before, all[i].At.Format("15:04:05.000"), all[i].Object.GetResourceVersion()))
		}
	}
	return wrong
}

// truceWrote reports whether one request, which has changed the count, was truce's: it has changed truce's own entries, and no other
// owns the count now. Another's write takes the count out of truce's entries too, but then it is that other's.
func truceWrote(before, now *unstructured.Unstructured) bool {
	entries := func(o *unstructured.Unstructured) (ours string, others bool) {
		var b strings.Builder
		for _, m := range o.GetManagedFields() {
			switch {
			case m.Manager == ownership.Manager || m.Manager == ownership.Handover:
				fmt.Fprintln(&b, m.Manager, m.Time, m.FieldsV1)
			case m.Subresource != "status" && (strings.Contains(m.FieldsV1.String(), `"f:replicas"`) || strings.Contains(m.FieldsV1.String(), `"f:count"`)):
				others = true
			}
		}
		return b.String(), others
	}
	was, _ := entries(before)
	is, others := entries(now)
	return was != is && !others
}

// lowest is the lowest count after each drop, until something else happened, as a part of what it was.
func (x *subject) lowest() float64 {
	low := 1.0
	for _, d := range x.drops {
		all := x.watch.Values()
		for i := 1; i < len(all) && d.live > 0; i++ {
			if x.by[all[i].Object.GetResourceVersion()] != "" {
				continue
			}
			soon := all[i].At.After(d.at) && all[i].At.Before(d.at.Add(5*time.Second))
			if before, n := x.count(all[i-1].Object), x.count(all[i].Object); soon && n < before && x.isGuarded(all[i].At) && truceWrote(all[i-1].Object, all[i].Object) {
				low = min(low, float64(n)/float64(d.live))
			}
		}
	}
	return low
}
