package stories

import (
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestTheStockFluxReadsWhatTruceWrites goes through what the commands of flux 2.9.4 read of custom resources, objects and Events, in Flux's own types.
func TestTheStockFluxReadsWhatTruceWrites(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	revision := "main@sha1:" + w.repo.Head()

	// flux get, and the wait of flux reconcile and resume
	ks, repo := w.asFlux("app")
	if ks.Status.LastAppliedRevision != revision || repo.Status.Artifact == nil || repo.Status.Artifact.Revision != revision {
		t.Errorf("get: %s and %+v, want %s", ks.Status.LastAppliedRevision, repo.Status.Artifact, revision)
	}
	w.isReadyForFlux(ks, ks.Status.Conditions, ks.Status.ObservedGeneration)
	w.isReadyForFlux(repo, repo.Status.Conditions, repo.Status.ObservedGeneration)

	// flux reconcile --with-source
	for _, kind := range []schema.GroupVersionResource{gitRepositories, kustomizations} {
		name := map[schema.GroupVersionResource]string{gitRepositories: "repo", kustomizations: "app"}[kind]
		token := time.Now().Format(time.RFC3339Nano)
		w.annotate(kind, name, meta.ReconcileRequestAnnotation, token)
		w.await(w.Watch(t, kind, w.ns, name), func(o *unstructured.Unstructured) bool {
			handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
			return handled == token
		})
	}
	w.ready("app")

	// flux tree, and flux trace, which goes from the labels of an object to its Kustomization
	entries := map[string]string{}
	for _, e := range ks.Status.Inventory.Entries {
		entries[e.ID] = e.Version
	}
	for _, name := range []string{"a", "b"} {
		if entries[w.ns+"_"+name+"__ConfigMap"] != "v1" {
			t.Errorf("tree: no ConfigMap %s in %v", name, entries)
		}
	}
	labels := w.get(configmaps, "a").GetLabels()
	if labels["kustomize.toolkit.fluxcd.io/name"] != "app" || labels["kustomize.toolkit.fluxcd.io/namespace"] != w.ns {
		t.Errorf("trace: the labels are %v", labels)
	}
	theApp := corev1.ObjectReference{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Name: "app"}
	w.eventForFlux(theApp, "ReconciliationSucceeded", corev1.EventTypeNormal)
	w.eventForFlux(corev1.ObjectReference{APIVersion: "source.toolkit.fluxcd.io/v1", Kind: "GitRepository", Name: "repo"}, "NewArtifact", corev1.EventTypeNormal)

	// flux suspend, and resume, which waits for the newest generation
	w.patch(kustomizations, "app", map[string]any{"spec": map[string]any{"suspend": true}}, "flux")
	w.patch(kustomizations, "app", map[string]any{"spec": map[string]any{"suspend": nil}}, "flux")
	w.await(w.Watch(t, kustomizations, w.ns, "app"), func(o *unstructured.Unstructured) bool {
		seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		return seen == o.GetGeneration()
	})
	w.ready("app")

	// flux stats counts what is not Ready; flux get says why, and at which revision the objects are
	w.repo.Commit(map[string]string{"app/a.yaml": "no: kind\n"}, "broken")
	w.condition("app", meta.ReadyCondition, func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "False" })
	ks, _ = w.asFlux("app")
	ready := apimeta.FindStatusCondition(ks.Status.Conditions, meta.ReadyCondition)
	if ready.Reason != meta.BuildFailedReason || ready.Message == "" || ks.Status.LastAppliedRevision != revision || ks.Status.LastAttemptedRevision == revision {
		t.Errorf("a build that fails: %+v, applied %s, attempted %s", ready, ks.Status.LastAppliedRevision, ks.Status.LastAttemptedRevision)
	}
	w.eventForFlux(theApp, meta.BuildFailedReason, corev1.EventTypeWarning)
}

// asFlux decodes the story's custom resources as Flux's programs do.
func (w *world) asFlux(name string) (*kustomizev1.Kustomization, *sourcev1.GitRepository) {
	w.t.Helper()
	ks, repo := &kustomizev1.Kustomization{}, &sourcev1.GitRepository{}
	for o, into := range map[*unstructured.Unstructured]any{w.get(kustomizations, name): ks, w.get(gitRepositories, "repo"): repo} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
			w.t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	return ks, repo
}

// isReadyForFlux checks what flux waits for: a condition Ready of the newest generation, and an object that is current by kstatus.
func (w *world) isReadyForFlux(o metav1.Object, conditions []metav1.Condition, observed int64) {
	w.t.Helper()
	ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.Message == "" || ready.ObservedGeneration != o.GetGeneration() || observed != o.GetGeneration() || ready.LastTransitionTime.IsZero() {
		w.t.Errorf("%s: %+v, observed generation %d of %d", o.GetName(), ready, observed, o.GetGeneration())
	}
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		w.t.Fatal(err)
	}
	if status := registry.HealthRules()[health.Reconciled].Assess(object.Object(plain)); status.Code != health.Healthy {
		w.t.Errorf("%s is not current: %+v", o.GetName(), status)
	}
}

// eventForFlux waits for an Event about the Kustomization app with all that flux events prints and selects by.
func (w *world) eventForFlux(of corev1.ObjectReference, reason, kind string) {
	w.t.Helper()
	selector := "involvedObject.kind=" + of.Kind + ",involvedObject.name=" + of.Name
	w.until("an Event with the reason "+reason, func() bool {
		list, err := w.dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(w.ns).List(w.ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, item := range list.Items {
			var e corev1.Event
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &e); err != nil {
				w.t.Fatal(err)
			}
			about := e.InvolvedObject
			if about.Namespace == w.ns && about.APIVersion == of.APIVersion &&
				e.Reason == reason && e.Type == kind && e.Message != "" && (!e.LastTimestamp.IsZero() || !e.EventTime.IsZero()) {
				return true
			}
		}
		return false
	})
}
