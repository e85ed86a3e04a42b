package stories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// street is truce's own street on a real API server, without the custom resource at its beginning: rules of every kind can be put
// on it, in whatever dialect they are written.
type street struct {
	*kubetest.Cluster
	t      *testing.T
	ns     string
	dir    string
	engine *reconcile.Engine
	app    app.App
	runs   int
}

// folder is a source that is a directory of this machine.
type folder struct {
	*street
}

func (f folder) Artifact(app.SourceKey) (source.Artifact, error) {
	tree, err := disk.OpenTree(f.dir)
	if err != nil {
		return source.Artifact{}, err
	}
	f.t.Cleanup(func() { _ = tree.Close() })
	return source.Artifact{Revision: fmt.Sprintf("main@sha1:%040d", f.runs), Digest: fmt.Sprint(f.runs), Files: tree}, nil
}

func (folder) Readers(app.SourceKey) []app.Key { return nil }

func (folder) Behind(app.SourceKey, time.Time) ([]app.SourceKey, []app.Key) { return nil, nil }

func newStreet(t *testing.T, files string) *street {
	return newStreetOver(t, files, func(*rest.Config) {})
}

// newStreetOver is newStreet over a connection that the story has its hands in.
func newStreetOver(t *testing.T, files string, over func(*rest.Config)) *street {
	t.Helper()
	t.Parallel()
	c := kubetest.Start(t)
	s := &street{Cluster: c, t: t, ns: c.Namespace(t), dir: t.TempDir()}
	s.commit(files)
	config := truceConfig(t, c)
	config.UserAgent = "truce/story"
	over(config)
	client, err := cluster.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	running, err := compose.Controller(compose.RunOptions{Settings: controller.Settings{CacheDir: t.TempDir()}, Cluster: client, Executable: exe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Close)
	parts := running.Engine.Dependencies
	parts.Sources, parts.Watches = folder{s}, nil // without watches every run looks at every object
	s.engine = reconcile.NewEngine(parts, nil)
	s.app = app.App{
		Key: app.Key{Kind: "Application", Namespace: s.ns, Name: "web"}, UID: "4b5c9e5e-0000-4000-8000-000000000001", Path: ".",
		Namespace: s.ns, Prune: policy.PruneDelete, Wait: app.WaitApplied, Validation: app.ValidateNone,
		Policy: policy.Policy{Mode: policy.Enforce, Claims: policy.ClaimsCede, Remediation: policy.Remediate, Pause: policy.PauseReport},
	}
	return s
}

// commit puts files into the source; a new revision begins with the next run.
func (s *street) commit(files string) {
	s.t.Helper()
	for name, text := range gittest.Files(files) {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *street) run() report.Report {
	s.t.Helper()
	s.runs++
	return s.engine.App(s.t.Context(), s.app)
}

// sync runs the app and wants it to come through.
func (s *street) sync() report.Report {
	s.t.Helper()
	r := s.run()
	if r.Reason != report.Succeeded {
		s.t.Fatalf("%s: %s: %s", r.Stage, r.Reason, r.Message)
	}
	return r
}

func (s *street) client(manager string) dynamic.ResourceInterface {
	s.t.Helper()
	config := s.Config()
	config.UserAgent = manager + "/1"
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return d.Resource(deployments).Namespace(s.ns)
}

// scale is what an autoscaler under this field manager does.
func (s *street) scale(manager string, n int) {
	s.t.Helper()
	body := fmt.Sprintf(`{"spec": {"replicas": %d}}`, n)
	if _, err := s.client(manager).Patch(s.t.Context(), "web", types.MergePatchType, []byte(body), metav1.PatchOptions{}, "scale"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *street) patch(manager, operations string) {
	s.t.Helper()
	if _, err := s.client(manager).Patch(s.t.Context(), "web", types.JSONPatchType, []byte(operations), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *street) get() *unstructured.Unstructured {
	s.t.Helper()
	o, err := s.client("reader").Get(s.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// wants compares replicas and the container images, in their order.
func (s *street) wants(want string) {
	s.t.Helper()
	o := s.get()
	words := []string{fmt.Sprint(replicas(o))}
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range list {
		words = append(words, fmt.Sprint(c.(map[string]any)["image"]))
	}
	if got := strings.Join(words, " "); got != want {
		s.t.Errorf("live is %q, want %q", got, want)
	}
}

func webYAML(lines ...string) string {
	text := `-- web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1"}
      - {name: log, image: "fluent:1"}
`
	return strings.NewReplacer(lines...).Replace(text)
}

func (s *street) rule(r ignore.Rule) {
	s.t.Helper()
	group, err := ignore.GlobPattern("apps")
	if err != nil {
		s.t.Fatal(err)
	}
	r.Name, r.Target = "spec.ignoreDifferences[0]", ignore.Target{Group: group, Kind: ignore.ExactPattern("Deployment")}
	s.app.Ignore = ignore.Rules{r}
}

func TestWhatJQSelectsIsLeftOutOfEverySync(t *testing.T) {
	s := newStreet(t, webYAML())
	d := s.Watch(t, deployments, s.ns, "web")
	s.sync()
	s.wants("3 nginx:1 fluent:1")

	// truce is the sole owner when the rule comes: letting go must not reset a field.
	s.rule(ignore.Rule{Queries: []string{".spec.replicas", `.spec.template.spec.containers[] | select(.name == "web") | .image`}})
	before := s.get().GetGeneration()
	s.sync()
	s.wants("3 nginx:1 fluent:1")
	if now := s.get().GetGeneration(); now != before {
		t.Errorf("letting go changed the object: generation %d, then %d", before, now)
	}

	// Others write the fields, and put a sidecar before Git's containers; Git changes them, and another one too.
	s.scale("autoscaler", 7)
	s.patch("updater", `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:2"}]`)
	s.patch("injector", `[{"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "proxy", "image": "envoy:1"}}]`)
	s.commit(webYAML("replicas: 3", "replicas: 4", "nginx:1", "nginx:9", "fluent:1", "fluent:2"))
	s.sync()
	s.wants("7 envoy:1 nginx:2 fluent:2")

	// Git drops the count: no Deployment is scaled to one.
	s.commit(webYAML("  replicas: 3\n", "", "nginx:1", "nginx:9", "fluent:1", "fluent:3"))
	s.sync()
	s.wants("7 envoy:1 nginx:2 fluent:3")
	neverFell(t, d, 3)
}

func TestWhatAManagerOwnsIsLeftOutOfEverySyncAlsoWhenGitDropsIt(t *testing.T) {
	s := newStreet(t, webYAML())
	d := s.Watch(t, deployments, s.ns, "web")
	s.rule(ignore.Rule{Managers: []string{"autoscaler"}})
	if r := s.sync(); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], `manager "autoscaler" covers no field that Git names`) {
		t.Errorf("a manager that has written nothing is told as %q", r.Notes)
	}
	s.scale("autoscaler", 7)
	if r := s.sync(); len(r.Notes) != 0 {
		t.Errorf("told of a rule that works: %q", r.Notes)
	}
	s.commit(webYAML("replicas: 3", "replicas: 4", "fluent:1", "fluent:2"))
	s.sync()
	s.wants("7 nginx:1 fluent:2")
	s.commit(webYAML("  replicas: 3\n", "", "fluent:1", "fluent:3"))
	s.sync()
	s.wants("7 nginx:1 fluent:3")
	neverFell(t, d, 3)

	// A person is another manager: with Git naming the count again, and the person's hand on it, it is Git's.
	s.commit(webYAML("fluent:1", "fluent:4"))
	s.sync()
	s.wants("7 nginx:1 fluent:4")
	s.scale("kubectl", 9)
	s.sync()
	s.wants("3 nginx:1 fluent:4")
}

func TestARuleThatCannotBeFollowedHoldsTheAppAndSaysWhy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule ignore.Rule
		want string
	}{
		"syntax":  {ignore.Rule{Queries: []string{".spec.replicas", ".spec["}}, `spec.ignoreDifferences[0].jqPathExpressions[1]: ".spec[": unexpected EOF`},
		"endless": {ignore.Rule{Queries: []string{"last(range(1e12))"}}, `spec.ignoreDifferences[0].jqPathExpressions[0]: "last(range(1e12))": it ran for longer than 1s`},
		"no path": {ignore.Rule{Queries: []string{".spec.replicas == 3"}}, `web.yaml:1: Deployment.apps NS/web: spec.ignoreDifferences[0].jqPathExpressions[0]: ".spec.replicas == 3": invalid path against: boolean (true)`},
		"truce":   {ignore.Rule{Managers: []string{"truce"}}, `spec.ignoreDifferences[0].managedFieldsManagers[0]: "truce": that is truce itself: it owns all that Git names`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStreet(t, webYAML())
			s.rule(tt.rule)
			r := s.run()
			if want := strings.ReplaceAll(tt.want, "NS", s.ns); r.Message != want || r.Reason == report.Succeeded {
				t.Errorf("%s: %q\nwant %q", r.Reason, r.Message, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if _, err := s.client("reader").Get(ctx, "web", metav1.GetOptions{}); err == nil {
				t.Error("the object was made although its rules are not known")
			}
		})
	}
}

func TestTheAnnotationOfAnObjectNamesItsIgnoredFields(t *testing.T) {
	s := newStreet(t, webYAML())
	s.sync()
	s.scale("autoscaler", 7)
	annotated := func(list string) string {
		return webYAML("annotations: {}", "annotations: {argocd.argoproj.io/ignore-differences-json-pointers: '"+list+"'}", "fluent:1", "fluent:2")
	}
	s.commit(annotated("/spec/replicas, spec/paused"))
	r := s.run()
	want := "web.yaml:1: Deployment.apps " + s.ns + `/web: annotation argocd.argoproj.io/ignore-differences-json-pointers: JSON pointer "spec/paused": want a path that begins with / and names a field, such as /spec/replicas`
	if r.Message != want {
		t.Errorf("%s: %q\nwant %q", r.Reason, r.Message, want)
	}
	s.wants("7 nginx:1 fluent:1") // nothing is written to an object of which the rules are not known
	s.commit(annotated("/spec/replicas,/spec/template/spec/containers/0/image"))
	if r := s.sync(); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], `the jq expression .spec.template.spec.containers[] | select(.name == "web") | .image would stay right`) {
		t.Errorf("a pointer that counts items is told as %q", r.Notes)
	}
	s.wants("7 nginx:1 fluent:2")
}

func TestANewRuleThatCoversNothingIsToldOnASteadyApp(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document3)
	const rule = `
ignoreDifferences:
- target: {kind: Deployment}
  jsonPatches: [{op: remove, path: %s}]`
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	told := func(pointer, want string) {
		t.Helper()
		w.app("my-app", "./apps/my-app", defaultSpec+fmt.Sprintf(rule, pointer))
		w.condition("my-app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
			message, _ := c["message"].(string)
			return c["status"] == "True" && strings.Contains(message, want)
		})
	}
	told("/spec/replica", "/spec/replica covers no field, neither in Git nor in the cluster: did you mean /spec/replicas?")
	told("/spec/template/spec/containers/0/image", `select(.name == "main") | .image would stay right`)
}

func TestAnApplicationIgnoresByJQAndByManagerWhileTheRestIsHealed(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{Claims: policy.ClaimsOff}, document3)
	w.application("my-app", "apps/my-app", automated+`
ignoreDifferences:
- group: apps
  kind: Deployment
  jqPathExpressions: ['.spec.template.spec.containers[] | select(.name == "main") | .image']
  managedFieldsManagers: [kubectl]`)
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.inSync("my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.kubectl("set", "image", "deployment/my-app", "main=nginx:other", "--field-manager=updater")
	w.kubectl("annotate", "deployment/my-app", "team=other", "--overwrite", "--field-manager=somebody")
	w.await(d, func(o *unstructured.Unstructured) bool {
		return replicas(o) == 5 && image(o) == "nginx:other" && o.GetAnnotations()["team"] == "shop"
	})
	w.edit("apps/my-app/my-app.yaml", "COLOUR, value: blue", "COLOUR, value: red")
	w.inSync("my-app")
	all := d.Values()
	if o := all[len(all)-1].Object; replicas(o) != 5 || image(o) != "nginx:other" {
		t.Errorf("after a sync: %d replicas of %s", replicas(o), image(o))
	}
	neverFell(t, d, 3)
}

func TestAnApplicationWithABadExpressionIsToldSoAndNoOtherIs(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3)
	w.application("bad", "apps/my-app", automated+`
ignoreDifferences: [{group: apps, kind: Deployment, jqPathExpressions: ['last(range(1e12))']}]`)
	const want = `spec.ignoreDifferences[0].jqPathExpressions[0]: "last(range(1e12))": it ran for longer than 1s`
	w.argoCondition("bad", "InvalidSpecError", want)
	w.application("good", "apps/my-app", automated)
	w.inSync("good")
	w.argoCondition("bad", "InvalidSpecError", want)
}
