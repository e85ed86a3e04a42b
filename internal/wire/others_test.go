package wire

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/object"
)

func TestWhoIsAtWorkShowsByItsOwnSigns(t *testing.T) {
	condition := func(status, reason string) object.Object {
		return object.Object{"status": map[string]any{"conditions": []any{map[string]any{"type": "Reconciling", "status": status, "reason": reason}}}}
	}
	for name, c := range map[string]struct {
		cr   object.Object
		want bool
	}{
		"a Flux run":                  {condition("True", "Progressing"), true},
		"a Flux run that has failed":  {condition("True", "ProgressingWithRetry"), false},
		"Flux at rest":                {condition("False", "Succeeded"), false},
		"an operation of Argo CD":     {object.Object{"status": map[string]any{"operationState": map[string]any{"phase": "Running"}}}, true},
		"an operation that has ended": {object.Object{"status": map[string]any{"operationState": map[string]any{"phase": "Succeeded"}}}, false},
		"no status":                   {object.Object{}, false},
	} {
		if got := busy(c.cr); got != c.want {
			t.Errorf("%s: busy is %v", name, got)
		}
	}
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	lease := func(holder, at string) object.Object {
		return object.Object{"spec": map[string]any{"holderIdentity": holder, "renewTime": at, "leaseDurationSeconds": int64(35)}}
	}
	if !renewed(lease("a", "2026-01-02T11:59:40.000000Z"), now) {
		t.Error("a Lease that was renewed 20 s ago counts for nothing")
	}
	for name, l := range map[string]object.Object{"old": lease("a", "2026-01-02T11:59:00.000000Z"), "given back": lease("", "2026-01-02T12:00:00.000000Z"), "empty": {}} {
		if renewed(l, now) {
			t.Errorf("a Lease that is %s counts", name)
		}
	}
	workload := func(asked, there any) unstructured.Unstructured {
		w := map[string]any{"spec": map[string]any{}, "status": map[string]any{}}
		if asked != nil {
			w["spec"] = map[string]any{"replicas": asked}
		}
		if there != nil {
			w["status"] = map[string]any{"replicas": there}
		}
		return unstructured.Unstructured{Object: w}
	}
	for name, c := range map[string]struct {
		w    unstructured.Unstructured
		want bool
	}{
		"by default":          {workload(nil, nil), true},
		"scaled up":           {workload(int64(1), nil), true},
		"still going down":    {workload(int64(0), int64(1)), true},
		"scaled down to zero": {workload(int64(0), int64(0)), false},
	} {
		if got := scaledUp(c.w); got != c.want {
			t.Errorf("%s: scaled up is %v", name, got)
		}
	}
}
