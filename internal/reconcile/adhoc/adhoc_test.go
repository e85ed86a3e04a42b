package adhoc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
)

func TestADryRunKeepsTheMarksOfWhoAppliesAndNothingElse(t *testing.T) {
	git := manifests(t, "git.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {argocd.argoproj.io/instance: git}}\n")[0].Data
	live := manifests(t, "live.yaml", `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  labels: {kustomize.toolkit.fluxcd.io/name: shop, truce.dev/part-of: by-hand, argocd.argoproj.io/instance: live, team: shop}
  managedFields:
  - {manager: kubectl, operation: Apply, apiVersion: v1, fieldsV1: {}}
  - {manager: kustomize-controller, operation: Apply, apiVersion: v1, fieldsV1: {"f:metadata": {"f:labels": {"f:kustomize.toolkit.fluxcd.io/name": {}, "f:argocd.argoproj.io/instance": {}, "f:team": {}}}}}
`)[0].Data
	owners, err := ownership.Entries(live)
	if err != nil {
		t.Fatal(err)
	}
	if got := adhoc.Applier(owners); got != "kustomize-controller" {
		t.Errorf("Git is applied by %s", got)
	}
	if got := adhoc.Applier(nil); got != ownership.Manager {
		t.Errorf("nobody's object is applied by %s", got)
	}
	before := git.Clone()
	body := adhoc.DryRunBody(git, live, owners)
	want := map[string]any{"kustomize.toolkit.fluxcd.io/name": "shop", "argocd.argoproj.io/instance": "git"}
	if diff := cmp.Diff(want, body.At("metadata", "labels")); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, git); diff != "" {
		t.Errorf("Git's object was changed:\n%s", diff)
	}
}

func TestTheNamespaceOfTheCommandIsNotForKindsWithoutOne(t *testing.T) {
	git := manifests(t, "git.yaml", `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}
`)
	subjects, err := adhoc.MatchObjects(git, nil, "shop")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, s := range subjects {
		got = append(got, s.Desired.ID.String())
	}
	if diff := cmp.Diff([]string{"Namespace shop", "ConfigMap shop/a", "Widget.example.com w"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheOrderIsKubectls(t *testing.T) {
	list := manifests(t, "x.yaml", `
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: v}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}
---
{apiVersion: v1, kind: Service, metadata: {name: b, namespace: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: n}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}}
`)
	adhoc.SortLikeKustomize(list)
	got := []string{}
	for _, o := range list {
		got = append(got, o.Data.GVK().Kind+" "+o.Data.Name())
	}
	want := "Namespace n, Service b, Service a, Deployment b, HorizontalPodAutoscaler h, Widget w, ValidatingWebhookConfiguration v"
	if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
