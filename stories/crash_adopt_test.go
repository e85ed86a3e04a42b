package stories

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// keptWhole is what Git wants of what another controller keeps.
var keptWhole = []string{"ConfigMap/settings", "Deployment/web", "HorizontalPodAutoscaler/web"}

// passages are the scenes of an app that moves from another controller to truce, or back. Its autoscaler has scaled it to 4, and of what
// the other has put there Git no longer names one object.
var passages = []scene{
	{
		name: "adoption", files: kept, objects: keptWhole, floor: 4, load: 5,
		setup:   func(s *stage) { s.beside(besideFlux, bySSA("kustomize-controller")) },
		trigger: func(s *stage) { s.adopt() },
		ended:   func(s *stage) { s.adopted() },
	},
	{
		name: "adoption of what kubectl apply has made", files: kept, objects: keptWhole, floor: 4, load: 5,
		setup:   func(s *stage) { s.beside(besideFlux, byClient("kubectl-client-side-apply")) },
		trigger: func(s *stage) { s.adopt() },
		ended:   func(s *stage) { s.adopted() },
	},
	{
		name: "release", files: kept, floor: 4, load: 5,
		setup:   func(s *stage) { s.given(besideFlux, bySSA("kustomize-controller")) },
		trigger: func(s *stage) { s.release() },
		ended:   func(s *stage) { s.released() },
	},
	{
		name: "adoption of an Application", files: kept, objects: keptWhole, floor: 4, load: 5,
		setup:   func(s *stage) { s.beside(besideArgo, byClient("argocd-controller")) },
		trigger: func(s *stage) { s.adopt() },
		ended:   func(s *stage) { s.adopted() },
	},
	{
		name: "release of an Application", files: kept, floor: 4, load: 5,
		setup:   func(s *stage) { s.given(besideArgo, bySSA("argocd-controller")) },
		trigger: func(s *stage) { s.release() },
		ended:   func(s *stage) { s.released() },
	},
}

// still are the objects of which no value may change in a passage.
var still = []struct {
	kind schema.GroupVersionResource
	name string
}{
	{deployments, "web"}, {configmaps, "settings"}, {schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}, "web"},
}

// beside makes all as the other controller would have left it, with a truce that only observes it.
func (s *stage) beside(other neighbour, how birth) {
	s.t.Helper()
	s.other = other
	s.bornBy(other, how)
	s.repo.Remove("apps/web/old.yaml")
	text := s.manifest("web", "./apps/web", "interval: 1h")
	if other.kind == applications {
		text = s.applicationText("web", "apps/web", automated)
	}
	observed := "{name: web, annotations: {truce.dev/mode: observe},"
	s.Apply(s.t, strings.NewReplacer("file://"+s.repo.Dir, s.toll.git, "{name: web,", observed).Replace(text))
	s.merge(other.list(s.world), other.sub)
	s.t.Cleanup(func() { s.freed(other.kind, "web") })
	s.load(4)
	s.await(s.deployments, func(o *unstructured.Unstructured) bool { return replicas(o) == 4 })
	s.start()
	s.until("truce to have looked at all objects", func() bool {
		return len(slices.DeleteFunc(s.toll.requests(), func(r string) bool { return !strings.HasPrefix(r, "PATCH ") })) >= len(keptWhole)
	})
	if last := other.stop[len(other.stop)-1]; other.stop[0] == "annotate" {
		key, value, _ := strings.Cut(last, "=")
		s.annotate(other.kind, "web", key, value)
	} else {
		s.merge(last, nil)
	}
	s.quiet()
	for _, o := range still {
		r := s.Watch(s.t, o.kind, s.ns, o.name)
		s.await(r, exists)
		s.still = append(s.still, r)
	}
}

// merge does what kubectl patch does with the other controller's app.
func (s *stage) merge(text string, flags []string) {
	s.t.Helper()
	var patch map[string]any
	if err := json.Unmarshal([]byte(text), &patch); err != nil {
		s.t.Fatal(err)
	}
	var sub []string
	if len(flags) > 0 {
		sub = []string{"status"}
	}
	s.patch(s.other.kind, "web", patch, "kubectl-patch", sub...)
}

// byClient makes the objects as kubectl apply makes what is not there yet.
func byClient(manager string) birth {
	return func(w *world, manifest string) {
		for text := range strings.SplitSeq(manifest, "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
				w.t.Fatal(err)
			}
			notes := o.GetAnnotations()
			if notes == nil {
				notes = map[string]string{}
			}
			notes["kubectl.kubernetes.io/last-applied-configuration"] = text + "\n"
			o.SetAnnotations(notes)
			kind, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
			if _, err := w.dynamic().Resource(kind).Namespace(w.ns).Create(w.ctx, o, metav1.CreateOptions{FieldManager: manager}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// adopt does what truce adopt does.
func (s *stage) adopt() {
	s.t.Helper()
	s.patch(s.other.kind, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"truce.dev/mode": "enforce", "truce.dev/adopted": "beside",
	}}}, "truce")
}

// adopted waits until all is truce's, and the object that Git no longer names is gone.
func (s *stage) adopted() {
	s.t.Helper()
	for _, r := range s.still {
		s.await(r, func(o *unstructured.Unstructured) bool { return isOurs(o, s.other.manager) })
	}
	s.goes(configmaps, "old")
	if s.other.kind == applications {
		s.inSync("web")
	} else {
		s.ready("web")
	}
}

// given is an app that was adopted.
func (s *stage) given(other neighbour, how birth) {
	s.t.Helper()
	s.beside(other, how)
	s.adopt()
	s.adopted()
}

// release does what truce release does.
func (s *stage) release() {
	s.t.Helper()
	s.annotate(s.other.kind, "web", "truce.dev/adopted", "")
	s.annotate(s.other.kind, "web", "truce.dev/mode", "release")
}

// released waits until all is Flux's, and truce has no record left.
func (s *stage) released() {
	s.t.Helper()
	for _, r := range s.still {
		s.await(r, func(o *unstructured.Unstructured) bool { return isTheirs(o, s.other.manager) })
	}
	s.untilEvery(400*time.Millisecond, "the end of the record", func() bool { return len(s.inventory().Entries) == 0 })
}

// unchanged checks that no value of a passage's objects has ever changed.
func (s *stage) unchanged() {
	s.t.Helper()
	for _, r := range s.still {
		sameValues(s.t, r.Values())
	}
}
