package ignore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

func load(t testing.TB, text string) object.Object {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const gitWeb = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {truce.dev/part-of: x, app: web}, annotations: {note: x}}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: web, image: nginx, args: [a]}
      - {name: log, image: fluent}
`

// In the cluster a sidecar was put before Git's containers, an autoscaler has scaled, a person added a label.
const liveWeb = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {truce.dev/part-of: x, app: web, added: "yes"}
  managedFields:
  - manager: truce
    operation: Apply
    fieldsV1:
      f:metadata: {f:labels: {f:app: {}, "f:truce.dev/part-of": {}}}
      f:spec:
        f:paused: {}
        f:template: {f:spec: {f:containers: {
          'k:{"name":"web"}': {".": {}, f:name: {}, f:image: {}, f:args: {}}, 'k:{"name":"log"}': {".": {}, f:name: {}, f:image: {}}}}}
  - manager: kube-controller-manager
    operation: Update
    subresource: scale
    fieldsV1: {f:spec: {f:replicas: {}}}
  - manager: injector
    operation: Update
    fieldsV1:
      f:metadata: {f:labels: {".": {}, f:added: {}, f:app: {}}}
      f:spec: {f:paused: {}, f:template: {f:spec: {f:containers: {
        'k:{"name":"proxy"}': {".": {}, f:name: {}, f:image: {}}, 'k:{"name":"log"}': {".": {}, f:name: {}, f:image: {}}}}}}
  - manager: present
    operation: Apply
    fieldsV1: {f:metadata: {f:annotations: {".": {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"web"}': {".": {}}}}}}}
spec:
  replicas: 7
  paused: false
  template:
    spec:
      containers:
      - {name: proxy, image: envoy}
      - {name: web, image: nginx, args: [a]}
      - {name: log, image: fluent}
`

func sight(t testing.TB) ignore.Observed {
	t.Helper()
	live := load(t, liveWeb)
	owners, err := ownership.Entries(live)
	if err != nil {
		t.Fatal(err)
	}
	return ignore.Observed{Desired: load(t, gitWeb), Live: live, Owners: owners}
}

func pointers(t testing.TB, texts ...string) []field.Pointer {
	t.Helper()
	var out []field.Pointer
	for _, text := range texts {
		p, err := ignore.ParsePointer(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func covered(rs ignore.Rules, s ignore.Observed) string {
	var out []string
	for _, c := range rs.Covers(s) {
		out = append(out, field.PathString(c.Path))
	}
	return strings.Join(out, " ")
}

func TestAPointerMeansGitsItemWhateverIsPutBeforeItInTheCluster(t *testing.T) {
	const c = "/spec/template/spec/containers"
	for text, want := range map[string]string{
		"/spec/replicas":           ".spec.replicas",
		c + "/0/image":             ".spec.template.spec.containers[name=web].image",
		c + "/1/image":             ".spec.template.spec.containers[name=log].image",
		c + "/2/image":             "", // only live has a third, which is Git's second
		c + "/0/name":              "",
		c + "/0":                   ".spec.template.spec.containers[name=web]",
		"/spec/paused":             ".spec.paused", // Git has dropped it
		"/metadata/labels/added":   ".metadata.labels.added",
		"/metadata/labels":         ".metadata.labels.app",
		"/metadata/labels/nowhere": "",
		"/spec/nowhere":            "",
	} {
		rs := ignore.Rules{{Name: "r", Pointers: pointers(t, text)}}
		if got := covered(rs, sight(t)); got != want {
			t.Errorf("%s covers %q, want %q", text, got, want)
		}
	}
}

func TestWhatAnExpressionSelectsIsNamedByKeys(t *testing.T) {
	at := func(texts ...string) []field.Pointer { return pointers(t, texts...) }
	const c = "/spec/template/spec/containers"
	for name, tt := range map[string]struct {
		answer ignore.Answer
		want   string
	}{
		"in both":        {ignore.Answer{Git: at(c + "/0/image"), Live: at(c + "/1/image")}, ".spec.template.spec.containers[name=web].image"},
		"only in live":   {ignore.Answer{Live: at(c + "/2/image")}, ".spec.template.spec.containers[name=log].image"},
		"by position":    {ignore.Answer{Git: at(c + "/1/image"), Live: at(c + "/1/image"), Positional: true}, ".spec.template.spec.containers[name=log].image"},
		"a name":         {ignore.Answer{Git: at(c+"/0/name", "/metadata/labels")}, ".metadata.labels.app"},
		"identity":       {ignore.Answer{Git: []field.Pointer{{"kind"}, {"metadata", "name"}, {}}}, ""},
		"dropped by Git": {ignore.Answer{Git: at("/spec/paused")}, ".spec.paused"},
		"nowhere":        {ignore.Answer{Git: at("/spec/x"), Live: at("/spec/x")}, ""},
		"both with another": {ignore.Answer{Git: at(c+"/0/image", c+"/1/image"), Live: at(c+"/0/image", c+"/1/image", c+"/2/image")},
			".spec.template.spec.containers[name=web].image .spec.template.spec.containers[name=log].image .spec.template.spec.containers[name=proxy].image"},
	} {
		s := sight(t)
		s.Answers = map[string]ignore.Answer{"q": tt.answer}
		if got := covered(ignore.Rules{{Name: "r", Queries: []string{"q"}}}, s); got != tt.want {
			t.Errorf("%s: covers %q, want %q", name, got, tt.want)
		}
	}
}

// TestAnExpressionMeansTheSameItemsInBothObjects: without keys a position of live is another one of Git's, where items were put in.
func TestAnExpressionMeansTheSameItemsInBothObjects(t *testing.T) {
	const rule = "{host: %s, http: {paths: [{path: /, backend: %s}]}}"
	ingress := func(hosts ...string) object.Object {
		var rules []string
		for _, h := range hosts {
			rules = append(rules, fmt.Sprintf(rule, strings.TrimSuffix(h, "!"), h))
		}
		return load(t, "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {rules: ["+strings.Join(rules, ", ")+"]}}")
	}
	const backend = "/http/paths/0/backend"
	for name, tt := range map[string]struct {
		git, live []string
		answer    ignore.Answer
		want      string
	}{
		"Git has a new one first": {
			[]string{"new", "a"}, []string{"a!"},
			ignore.Answer{Git: pointers(t, "/spec/rules/1"+backend), Live: pointers(t, "/spec/rules/0"+backend)}, ".spec.rules[1].http.paths[0].backend",
		},
		"live has another one first": {
			[]string{"a"}, []string{"theirs", "a!"},
			ignore.Answer{Git: pointers(t, "/spec/rules/0"+backend), Live: pointers(t, "/spec/rules/1"+backend)}, ".spec.rules[0].http.paths[0].backend",
		},
		"selected in live alone": {
			[]string{"new", "a"}, []string{"a!"}, ignore.Answer{Live: pointers(t, "/spec/rules/0"+backend)}, ".spec.rules[1].http.paths[0].backend",
		},
		"an item that Git has not": {
			[]string{"a"}, []string{"theirs", "a"}, ignore.Answer{Live: pointers(t, "/spec/rules/0"+backend)}, "",
		},
	} {
		s := ignore.Observed{Desired: ingress(tt.git...), Live: ingress(tt.live...), Answers: map[string]ignore.Answer{"q": tt.answer}}
		if got := covered(ignore.Rules{{Name: "r", Queries: []string{"q"}}}, s); got != tt.want {
			t.Errorf("%s: covers %q, want %q", name, got, tt.want)
		}
	}
}

func TestAManagersFieldsAreCoveredAndNotWhatOthersHaveBesideThem(t *testing.T) {
	for manager, want := range map[string]string{
		"kube-controller-manager": ".spec.replicas",
		"injector":                ".metadata.labels.app .spec.paused .spec.template.spec.containers[name=log].image",
		"present":                 "", // in the list; what is in the item is not its
		"nobody":                  "",
	} {
		rs := ignore.Rules{{Name: "r", Managers: []string{manager}}}
		if got := covered(rs, sight(t)); got != want {
			t.Errorf("%s covers %q, want %q", manager, got, want)
		}
	}
	s := sight(t) // Git has dropped replicas, and they are still ours too
	delete(s.Desired["spec"].(map[string]any), "replicas")
	if got := covered(ignore.Rules{{Managers: []string{"kube-controller-manager"}}}, s); got != "" {
		t.Errorf("what neither Git names nor we own is covered: %s", got)
	}
}

func TestAnAnnotationOfGitsObjectIsARuleForThatObject(t *testing.T) {
	rs := ignore.Rules{{Name: "r", Pointers: pointers(t, "/spec/replicas")}}
	for text, want := range map[string]string{
		"/spec/paused":                  ".spec.replicas .spec.paused",
		" /spec/paused , /spec/nowhere": ".spec.replicas .spec.paused",
		"":                              ".spec.replicas",
		",":                             ".spec.replicas",
		"spec":                          `annotation argocd.argoproj.io/ignore-differences-json-pointers: JSON pointer "spec": want a path that begins with / and names a field, such as /spec/replicas`,
		"/metadata/name":                "annotation argocd.argoproj.io/ignore-differences-json-pointers: /metadata/name says which object it is, and cannot be left out",
		"/spec/*/x":                     `annotation argocd.argoproj.io/ignore-differences-json-pointers: JSON pointer "/spec/*/x": a pointer has no wildcards; a jq expression such as .spec.containers[].image has`,
	} {
		s := sight(t)
		s.Desired.Metadata()["annotations"] = map[string]any{ignore.PointersAnnotation: text}
		all, err := rs.On(s.Desired)
		got := covered(all, s)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s\nwant %s", text, got, want)
		}
	}
	if len(rs) != 1 {
		t.Error("the app's rules have grown")
	}
}

func TestARuleThatMatchesNoObjectIsToldWithWhatWasMeant(t *testing.T) {
	glob := func(text string) ignore.Target {
		group, kind, _ := strings.Cut(text, "/")
		g, err := ignore.GlobPattern(group)
		if err != nil {
			t.Fatal(err)
		}
		k, err := ignore.GlobPattern(kind)
		if err != nil {
			t.Fatal(err)
		}
		return ignore.Target{Group: g, Kind: k}
	}
	named := glob("apps/Deployment")
	named.Name = ignore.ExactPattern("wbe")
	elsewhere := glob("apps/Deployment")
	elsewhere.Namespace = ignore.ExactPattern("default")
	all := []object.Object{load(t, gitWeb), load(t, "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}"),
		load(t, "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop}}")}
	for want, target := range map[string]ignore.Target{
		`r matches no object of this app: group "app": did you mean "apps"?`:                    glob("app/Deployment"),
		`r matches no object of this app: group "": did you mean "apps"?`:                       glob("/Deployment"),
		`r matches no object of this app: kind "deployment": did you mean "Deployment"?`:        glob("apps/deployment"),
		`r matches no object of this app: kind "Dep*oy.ment": did you mean "Deployment"?`:       glob("apps/Dep*oy.ment"),
		`r matches no object of this app: kind "Rollout"; there is "Deployment", "StatefulSet"`: glob("apps/Rollout"),
		`r matches no object of this app; it has Deployment.apps, Service, StatefulSet.apps`:    glob("batch/CronJob"),
		`r matches no object of this app: name "wbe": did you mean "web"?`:                      named,
		`r matches no object of this app: namespace "default": did you mean "shop"?`:            elsewhere,
	} {
		got := strings.Join(ignore.Rules{{Name: "r", Target: target}}.Idle(all), "\n")
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := (ignore.Rules{{Name: "r", Target: glob("*/*")}}).Idle(all); got != nil {
		t.Errorf("a rule that matches is told: %q", got)
	}
	if got := (ignore.Rules{{Name: "r"}}).Idle(nil); len(got) != 1 || !strings.HasSuffix(got[0], "it has no objects") {
		t.Errorf("%q", got)
	}
}

func notes(rs ignore.Rules, all ...ignore.Observed) string {
	var tallies []ignore.Tally
	for _, s := range all {
		tallies = append(tallies, rs.Tally(s))
	}
	return strings.Join(rs.Notes(tallies), "\n")
}

func TestARuleThatCoversNothingIsTold(t *testing.T) {
	s := sight(t)
	s.Answers = map[string]ignore.Answer{".spec.x": {}, ".spec.replicas": {Git: pointers(t, "/spec/replicas")}}
	for want, r := range map[string]ignore.Rule{
		"": {Pointers: pointers(t, "/spec/replicas"), Queries: []string{".spec.replicas"}, Managers: []string{"injector"}},
		"r: /spec/replica covers no field, neither in Git nor in the cluster: did you mean /spec/replicas?":                                                                        {Pointers: pointers(t, "/spec/replica")},
		"r: /spec/xyz/abc covers no field, neither in Git nor in the cluster":                                                                                                      {Pointers: pointers(t, "/spec/xyz/abc")},
		`r: jq ".spec.x" covers no field, neither in Git nor in the cluster`:                                                                                                       {Queries: []string{".spec.x"}},
		`r: manager "horizontal-pod-autoscaler" covers no field that Git names; those who have written to Deployment.apps shop/web are kube-controller-manager, injector, present`: {Managers: []string{"horizontal-pod-autoscaler"}},
		`r: manager "kube-controler-manager" covers no field that Git names: did you mean "kube-controller-manager"?`:                                                              {Managers: []string{"kube-controler-manager"}},
	} {
		r.Name = "r"
		if got := notes(ignore.Rules{r}, s); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	other := s
	other.Desired, other.Live = load(t, gitWeb), load(t, gitWeb)
	other.Live["spec"].(map[string]any)["replica"] = int64(1)
	rs := ignore.Rules{{Name: "r", Pointers: pointers(t, "/spec/replica")}}
	if got := notes(rs, s, other); got != "" {
		t.Errorf("one object has it, and yet: %s", got)
	}
	if got := rs.Notes([]ignore.Tally{rs.Tally(s), {}}); got != nil {
		t.Errorf("an object was not looked at, and yet: %s", got)
	}
}

func TestAPointerThatCountsItemsIsToldWithTheExpressionThatDoesNot(t *testing.T) {
	rs := ignore.Rules{{Name: "r", Pointers: pointers(t, "/spec/template/spec/containers/0/image")}}
	const want = `r: /spec/template/spec/containers/0/image counts list items: in Deployment.apps shop/web it means .spec.template.spec.containers[name=web].image as Git has it now, and another one when Git's list has another order; the jq expression .spec.template.spec.containers[] | select(.name == "web") | .image would stay right`
	if diff := cmp.Diff(want, notes(rs, sight(t), sight(t))); diff != "" {
		t.Error(diff)
	}
}

func TestTheObjectsOwnAnnotationIsToldToo(t *testing.T) {
	s := sight(t)
	s.Desired.Metadata()["annotations"] = map[string]any{ignore.PointersAnnotation: "/spec/replica"}
	rs, err := ignore.Rules(nil).On(s.Desired)
	if err != nil {
		t.Fatal(err)
	}
	const want = "Deployment.apps shop/web: annotation argocd.argoproj.io/ignore-differences-json-pointers: /spec/replica covers no field, neither in Git nor in the cluster: did you mean /spec/replicas?"
	if got := strings.Join(ignore.Rules(nil).Notes([]ignore.Tally{rs.Tally(s)}), "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestNotesAreFewHoweverManyObjectsThereAre(t *testing.T) {
	var tallies []ignore.Tally
	for i := range 100 {
		s := sight(t)
		s.Desired.Metadata()["annotations"] = map[string]any{ignore.PointersAnnotation: fmt.Sprintf("/spec/x%d", i)}
		rs, err := ignore.Rules(nil).On(s.Desired)
		if err != nil {
			t.Fatal(err)
		}
		tallies = append(tallies, rs.Tally(s))
	}
	if got := ignore.Rules(nil).Notes(tallies); len(got) != 21 || got[20] != "and 80 more notes on ignore rules" {
		t.Errorf("%d: %s", len(got), got[len(got)-1])
	}
}

func TestAnUnansweredExpressionIsAnErrorWithItsRule(t *testing.T) {
	s := sight(t)
	rs := ignore.Rules{{Name: "spec.ignoreDifferences[0]", Queries: []string{"a", "b"}, Target: ignore.Target{Name: ignore.ExactPattern("web")}}}
	s.Answers = map[string]ignore.Answer{"a": {}, "b": {Err: fmt.Errorf("no")}}
	if got := fmt.Sprint(rs.Unanswered(s)); got != `spec.ignoreDifferences[0].jqPathExpressions[1]: "b": no` {
		t.Error(got)
	}
	if got := rs.Queries(load(t, "{apiVersion: v1, kind: Service, metadata: {name: other}}")); got != nil {
		t.Errorf("asks %q of an object that the rule is not about", got)
	}
	if got := rs.AllQueries(); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := rs.Refused(s.Answers); len(got) != 1 || got[0].Field != "spec.ignoreDifferences[0].jqPathExpressions[1]" || got[0].Reason() != `"b": no` {
		t.Errorf("%v", got)
	}
}

func TestAManagerMustBeSomebodyElse(t *testing.T) {
	rs := ignore.Rules{{Name: "r", Managers: []string{"kubectl", "truce", "", "truce-handover"}}}
	var got []string
	for _, e := range rs.Refused(nil) {
		got = append(got, e.Error())
	}
	want := []string{
		`r.managedFieldsManagers[1]: "truce": that is truce itself: it owns all that Git names`,
		`r.managedFieldsManagers[2]: "": names no manager`,
		`r.managedFieldsManagers[3]: "truce-handover": that is truce itself: it owns all that Git names`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
