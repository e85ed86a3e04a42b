package autoscaled_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/lint/autoscaled"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// hpa is the claim of an autoscaler.
var hpa = claim.Claim{
	Path: field.NewPath("spec", "replicas"), By: object.ID{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "shop", Name: "web"}, Min: 2, Max: 10,
	Scaled: claim.Scaling{To: 5, At: now.Add(-time.Minute).Unix()},
}

// owns is an entry of managedFields that holds the count, or, if not, another field.
func owns(manager, operation, subresource string, count bool) string {
	fields := "f:paused: {}"
	if count {
		fields = "f:replicas: {}"
	}
	at := "time: 2026-11-21T11:00:00Z, "
	if subresource == "scale" {
		at = "" // the server notes none
	}
	return fmt.Sprintf("  - {manager: %s, operation: %s, subresource: %q, apiVersion: apps/v1, %sfieldsType: FieldsV1, fieldsV1: {f:spec: {%s}}}\n",
		manager, operation, subresource, at, fields)
}

func workload(t *testing.T, annotations, managers string) object.Object {
	t.Helper()
	o := given.Object(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n  annotations: {"+annotations+"}\n  managedFields:\n"+managers)
	o["spec"] = map[string]any{"replicas": int64(5)}
	return o
}

const applied = `kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"replicas":3}}'`

func TestTheHoldIsWhatARecordShows(t *testing.T) {
	flux := dialect.Parent{Key: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, By: "kustomize-controller"}
	argo := dialect.Parent{Key: app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}, By: "argocd-controller"}
	truce := dialect.Parent{Key: app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, By: "truce"}
	scaled := owns("kube-controller-manager", "Update", "scale", true)
	for name, test := range map[string]struct {
		parent                dialect.Parent
		annotations, managers string
		agreed                bool
		hold                  autoscaled.Hold
		severity              rules.Severity
		wants                 any
		writer                string
	}{
		"Flux owns it":                      {flux, "", owns("kustomize-controller", "Apply", "", true), false, autoscaled.Named, rules.Error, int64(5), "kustomize-controller"},
		"the HPA has it from Flux":          {flux, "", owns("kustomize-controller", "Apply", "", false) + scaled, false, autoscaled.Unclear, rules.Info, nil, "HPA shop/web"},
		"nobody ever owned it":              {flux, "", owns("kustomize-controller", "Apply", "", false), false, autoscaled.Free, rules.Info, nil, "HPA shop/web"},
		"Argo CD's update owns the default": {argo, strings.Replace(applied, `"replicas":3`, "", 1), owns("argocd-controller", "Update", "", true), false, autoscaled.Free, rules.Info, nil, "argocd-controller"},
		"Helm's update may own the default": {dialect.Parent{By: "helm-controller"}, "", owns("helm-controller", "Update", "", true), false, autoscaled.Unclear, rules.Info, nil, "helm-controller"},
		"Flux leaves the object alone": {
			flux, "kustomize.toolkit.fluxcd.io/ssa: IfNotPresent", owns("kustomize-controller", "Apply", "", false) + scaled, false, autoscaled.Free, rules.Info, nil, "HPA shop/web",
		},
		"a label has Flux leave the object alone": {
			flux, "}\n  labels: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent", owns("kustomize-controller", "Apply", "", false) + scaled, false, autoscaled.Free, rules.Info, nil, "HPA shop/web",
		},
		"Argo CD has applied it": {argo, applied, owns("argocd-controller", "Update", "", false) + scaled, false, autoscaled.Named, rules.Error, int64(3), "HPA shop/web"},
		"Argo CD has applied without it": {
			argo, strings.Replace(applied, `"replicas":3`, "", 1), owns("argocd-controller", "Update", "", false) + scaled, false, autoscaled.Free, rules.Info, nil, "HPA shop/web",
		},
		"what somebody else applied says nothing of Argo CD": {argo, applied, owns("argocd-controller", "Apply", "", false) + scaled, false, autoscaled.Unclear, rules.Info, nil, "HPA shop/web"},
		"the Application agreed":                             {argo, applied, owns("argocd-controller", "Update", "", false) + scaled, true, autoscaled.Agreed, rules.Info, nil, "HPA shop/web"},
		"truce handed it over":                               {truce, "", owns("truce", "Apply", "", false) + owns("truce-handover", "Apply", "", true), false, autoscaled.Ceded, rules.Info, nil, "HPA shop/web"},
		"truce holds it":                                     {truce, "", owns("truce", "Apply", "", true), false, autoscaled.Named, rules.Warning, int64(5), "truce"},
		"a person scaled":                                    {flux, "", owns("kustomize-controller", "Apply", "", false) + owns("kubectl", "Update", "scale", true), false, autoscaled.Unclear, rules.Info, nil, "kubectl (scale)"},
	} {
		e := autoscaled.Evidence{
			Object: workload(t, test.annotations, test.managers), Parent: test.parent, Claims: []claim.Claim{hpa}, Agreed: test.agreed,
			Hasher: ownership.NewHasher(), Now: now,
		}
		got, ok, err := autoscaled.Inspect(e)
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", name, ok, err)
			continue
		}
		if got.Hold != test.hold || got.Severity != test.severity || got.Wants != test.wants || got.Writer.Name != test.writer || got.Message == "" {
			t.Errorf("%s: got %s %s wants %v by %s: %s", name, got.Hold, got.Severity, got.Wants, got.Writer.Name, got.Message)
		}
		if got.Writer.Name == "HPA shop/web" && !got.Writer.Time.Equal(hpa.Scaled.Time()) {
			t.Errorf("%s: written at %v, and the autoscaler says %v", name, got.Writer.Time, hpa.Scaled.Time())
		}
	}
}

func TestWhatIsNotUnderGitOrNotScaledIsNoRival(t *testing.T) {
	o := workload(t, "", owns("kubectl", "Apply", "", true))
	flux := dialect.Parent{By: "kustomize-controller"}
	label := hpa
	label.By = object.ID{} // shown by the object itself, not by an autoscaler
	for name, e := range map[string]autoscaled.Evidence{
		"not under Git": {Object: o, Claims: []claim.Claim{hpa}}, "not scaled": {Object: o, Parent: flux}, "no autoscaler": {Object: o, Parent: flux, Claims: []claim.Claim{label}},
	} {
		if r, ok, err := autoscaled.Inspect(e); ok || err != nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	o.Metadata()["managedFields"] = []any{"x"}
	if _, _, err := autoscaled.Inspect(autoscaled.Evidence{Object: o, Parent: flux, Claims: []claim.Claim{hpa}}); err == nil || !strings.Contains(err.Error(), "shop/web") {
		t.Errorf("a record that cannot be read: %v", err)
	}
}
