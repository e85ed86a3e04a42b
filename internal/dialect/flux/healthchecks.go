package flux

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// healthExpressions reads spec.healthCheckExprs. As in Flux, the version of an entry's API does not matter, and an entry without a kind is for all
// kinds of the group that no other entry names. Of two entries for one kind the first holds, where Flux refuses the second.
func (r *reading) healthExpressions(checks []kustomize.CustomHealthCheck) []health.Custom {
	var out []health.Custom
	for i, c := range checks {
		at := fmt.Sprintf("spec.healthCheckExprs[%d]", i)
		gv, err := schema.ParseGroupVersion(c.APIVersion)
		if err != nil || c.APIVersion == "" {
			r.Problem(at+".apiVersion", "want a group and version, such as example.com/v1, not %q", c.APIVersion)
		}
		custom := health.Custom{Group: gv.Group, Kind: c.Kind, Current: r.expression(at+".current", c.Current, cel.Parse)}
		if c.InProgress != "" {
			custom.InProgress = r.expression(at+".inProgress", c.InProgress, cel.Parse)
		}
		if c.Failed != "" {
			custom.Failed = r.expression(at+".failed", c.Failed, cel.Parse)
		}
		out = append(out, custom)
	}
	return out
}

// unversioned are the API versions of kinds that a check may name without one, as `flux create kustomization --health-check` writes them.
var unversioned = map[string]string{
	"Deployment": "apps/v1", "DaemonSet": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1",
	"HelmRelease": "helm.toolkit.fluxcd.io/v2", kustomization: kustomizeAPI,
}

// healthChecks reads spec.healthChecks, which spec.wait replaces. An entry without a namespace means the Kustomization's own; that of a kind
// without namespaces does not matter. As in Flux, one that names the Kustomization itself is left out: it would wait for its own condition Ready.
func (r *reading) healthChecks(cr object.Object, spec KustomizationSpec) []health.Check {
	if spec.Wait {
		return nil
	}
	var out []health.Check
	for i, c := range spec.HealthChecks {
		at := fmt.Sprintf("spec.healthChecks[%d]", i)
		version := cmp.Or(c.APIVersion, unversioned[c.Kind], "v1")
		gv, err := schema.ParseGroupVersion(version)
		switch {
		case err != nil:
			r.Problem(at+".apiVersion", "want a group and version, such as apps/v1, not %q", c.APIVersion)
		case c.Kind == "":
			r.Problem(at+".kind", "required")
		case c.Name == "":
			r.Problem(at+".name", "required")
		default:
			id := object.ID{Group: gv.Group, Kind: c.Kind, Namespace: cmp.Or(c.Namespace, cr.Namespace()), Name: c.Name}
			if id != cr.ID() || spec.KubeConfig != nil {
				out = append(out, health.Check{ID: id, Version: gv.Version})
			}
		}
	}
	return out
}

// awaitsHealth reports whether a Kustomization is ready only when objects are healthy.
func awaitsHealth(cr object.Object) bool {
	checks, _ := cr.At("spec", "healthChecks").([]any)
	return cr.At("spec", "wait") == true || len(checks) > 0
}

// checked are the objects that must be healthy: not those that have opted out, and not the Kustomization itself where it is among its objects, as flux
// bootstrap lays it out. It would wait for its own condition Ready.
func checked(cr object.Object, r report.Report) []report.Object {
	if cr.At("spec", "wait") != true {
		return r.Checks
	}
	isLeftOut := func(o report.Object) bool { return o.OptedOut || o.UID != "" && o.UID == cr.UID() }
	return slices.DeleteFunc(slices.Clone(r.Objects), isLeftOut)
}

// failedSince is since when the condition Healthy is False for a health check that has failed.
func failedSince(cr object.Object) time.Time {
	var had struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	reader.DecodeStatus(cr, &had)
	c := findCondition(had.Conditions, meta.HealthyCondition)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != meta.HealthCheckFailedReason {
		return time.Time{}
	}
	return c.LastTransitionTime.Time
}
