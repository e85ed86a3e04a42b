package decide_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

var record = flag.Bool("record", false, "write what the API server holds after each story's history into the story")

// TestTheStoriesAreTrue replays each story's history on a real API server, compares what that holds with what the story
// says, and then carries out what is decided, until there is nothing left to do. A history is a list of lines:
//
//	git FILE            truce applies the file; the answer is settled.yaml
//	apply MANAGER FILE  another manager does, without force
//	handover FILE       our own handover does
//	scale N             the horizontal pod autoscaler's controller writes the scale subresource
//	kubectl ARGS        a person types; NS stands for the namespace, {} for the object
func TestTheStoriesAreTrue(t *testing.T) {
	c := kubetest.Start(t)
	ns := c.Namespace(t)
	for _, kind := range []string{
		"widgets.truce.test", "rollouts.argoproj.io", "virtualservices.networking.istio.io", "destinationrules.networking.istio.io", "httproutes.gateway.networking.k8s.io",
	} {
		plural, _, _ := strings.Cut(kind, ".")
		definition, err := os.ReadFile("testdata/" + plural + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(t, string(definition))
		c.Established(t, kind)
	}
	files, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			h := &history{t: t, cluster: c, ns: ns, files: map[string]string{}}
			for _, f := range a.Files {
				h.files[f.Name] = string(f.Data)
			}
			defer h.remove()
			h.replay()
			h.settle(path, a)
			h.carryOut()
		})
	}
}

type history struct {
	t       *testing.T
	cluster *kubetest.Cluster
	ns      string
	files   map[string]string

	id            object.GVK
	name          string
	settled, live object.Object
}

func (h *history) replay() {
	first := given.Object(h.t, h.files["git.yaml"])
	h.id, h.name = first.GVK(), first.Name()
	for _, line := range strings.Split(strings.TrimSpace(h.files["history"]), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "":
		case "git":
			h.settled = h.apply(ownership.Manager, desired.Sanitise(given.Object(h.t, h.files[rest])))
		case "apply":
			manager, file, _ := strings.Cut(rest, " ")
			h.apply(manager, given.Object(h.t, h.files[file]))
		case "handover":
			h.apply(ownership.Handover, given.Object(h.t, h.files[rest]))
		case "scale":
			h.scale(rest)
		case "kubectl":
			h.cluster.Kubectl(h.t, append([]string{"-n", h.ns}, h.words(rest)...)...)
		default:
			h.t.Fatalf("history: no such word: %s", line)
		}
	}
	h.live = h.get()
}

// remove makes room for the next story, whose object may have the same name.
func (h *history) remove() {
	client := h.client("kubetest")
	if h.live.At("metadata", "finalizers") != nil {
		_, err := client.Patch(h.t.Context(), h.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			h.t.Error(err)
		}
	}
	if err := client.Delete(h.t.Context(), h.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		h.t.Error(err)
	}
}

func (h *history) object() string { return strings.ToLower(h.id.Kind) + "/" + h.name }

// words splits at spaces, except within single quotes.
func (h *history) words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(strings.ReplaceAll(part, "{}", h.object()))...)
	}
	return out
}

func (h *history) client(agent string) dynamic.ResourceInterface {
	h.t.Helper()
	config := h.cluster.Config()
	config.UserAgent = agent
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		h.t.Fatal(err)
	}
	plural := strings.ToLower(h.id.Kind) + "s"
	return client.Resource(schema.GroupVersionResource{Group: h.id.Group, Version: h.id.Version, Resource: plural}).Namespace(h.ns)
}

func (h *history) apply(manager string, o object.Object) object.Object {
	h.t.Helper()
	body, err := json.Marshal(o)
	if err != nil {
		h.t.Fatal(err)
	}
	force := manager == ownership.Manager
	u, err := h.client("kubetest").Patch(h.t.Context(), o.Name(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: "Strict"})
	if err != nil {
		h.t.Fatalf("apply as %s: %v", manager, err)
	}
	return u.Object
}

// scale does what the HPA controller does: a PUT of the scale subresource without a field manager, under the controller
// manager's User-Agent.
func (h *history) scale(n string) {
	client := h.client("kube-controller-manager/v1.37.1 (linux/amd64) kubernetes/0 system:serviceaccount:kube-system:horizontal-pod-autoscaler")
	count, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		h.t.Fatal(err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		u, err := client.Get(h.t.Context(), h.name, metav1.GetOptions{}, "scale")
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(u.Object, count, "spec", "replicas"); err != nil {
			return err
		}
		_, err = client.Update(h.t.Context(), u, metav1.UpdateOptions{}, "scale")
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) get() object.Object {
	list, err := h.client("kubetest").List(h.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + h.name})
	if err != nil {
		h.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return list.Items[0].Object
}

// settle compares what was recorded with what the server holds, or records it.
func (h *history) settle(path string, a *txtar.Archive) {
	changed := false
	for _, name := range []string{"settled.yaml", "live.yaml"} {
		text := written(h.t, map[string]object.Object{"settled.yaml": h.settled, "live.yaml": h.live}[name])
		if diff := cmp.Diff(h.files[name], text); diff != "" {
			changed = true
			setFile(a, name, text)
			if !*record {
				h.t.Errorf("%s: the server holds something else (-story +server); -record writes it:\n%s", name, diff)
			}
		}
	}
	if changed && *record {
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
}

// setFile writes a section; a new one goes behind all others, since a reader looks at what is wanted first.
func setFile(a *txtar.Archive, name, text string) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	switch {
	case i >= 0 && text == "":
		a.Files = slices.Delete(a.Files, i, i+1)
	case i >= 0:
		a.Files[i].Data = []byte(text)
	case text != "":
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
	}
}

// written prints an object without what differs from run to run, and without its status. The times of managedFields become
// one for our own entry, and a later one for all others.
func written(t *testing.T, o object.Object) string {
	t.Helper()
	if o == nil {
		return ""
	}
	c := o.Clone()
	delete(c, "status")
	entries, _ := c.At("metadata", "managedFields").([]any)
	var kept []string
	for _, e := range entries {
		m := maps.Clone(e.(map[string]any))
		if m["subresource"] == "status" {
			continue
		}
		if _, timed := m["time"]; timed {
			m["time"] = "2026-01-02T03:05:05Z"
			if m["manager"] == ownership.Manager {
				m["time"] = "2026-01-02T03:04:05Z"
			}
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, "  - "+string(text)+"\n")
	}
	slices.Sort(kept) // the server sorts by time
	for _, key := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "namespace"} {
		delete(c.Metadata(), key)
	}
	if a, ok := c.At("metadata", "annotations").(map[string]any); ok {
		delete(a, "deployment.kubernetes.io/revision") // the controller's, at its own pace
		if len(a) == 0 {
			delete(c.Metadata(), "annotations")
		}
	}
	text, err := yaml.Marshal(map[string]any(c))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "\nmetadata:\n", "\nmetadata:\n  managedFields:\n"+strings.Join(kept, ""), 1)
}
