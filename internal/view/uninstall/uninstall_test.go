package uninstall_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/view/uninstall"
)

const guarded = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: web
  namespace: shop
  uid: u1
  finalizers: [finalizers.fluxcd.io, example.com/backup]
  managedFields:
  - {manager: truce-controller, fieldsV1: {"f:metadata": {"f:finalizers": {".": {}, 'v:"finalizers.fluxcd.io"': {}}}}}
`

// TestOnlyTrucesOwnFinalizersAreRemoved adds, one after the other, reasons to leave a finalizer alone.
func TestOnlyTrucesOwnFinalizersAreRemoved(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"truce's":             {guarded, []string{"finalizers.fluxcd.io"}},
		"Flux's as well":      {guarded + "  - {manager: gotk-kustomize-controller, fieldsV1: {\"f:metadata\": {\"f:finalizers\": {'v:\"finalizers.fluxcd.io\"': {}}}}}\n", nil},
		"another's beside it": {guarded + "  - {manager: backup, fieldsV1: {\"f:metadata\": {\"f:finalizers\": {'v:\"example.com/backup\"': {}}}}}\n", []string{"finalizers.fluxcd.io"}},
		"none":                {"kind: Kustomization\nmetadata: {name: web}\n", nil},
		"not recorded":        {"kind: Kustomization\nmetadata: {name: web, finalizers: [finalizers.fluxcd.io]}\n", nil},
	} {
		if diff := cmp.Diff(test.want, uninstall.WebhookGuards(given.Object(t, test.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRecordsGoLast(t *testing.T) {
	marked := given.Object(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, labels: {truce.dev/part-of: x}}\n")
	bare := given.Object(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bare, namespace: shop}\n")
	record := given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inventory, namespace: shop}\n")
	var got []string
	for _, s := range uninstall.PlanRemoval(uninstall.Input{
		Resources: []object.Object{given.Object(t, guarded)}, Records: []object.Object{record}, Marked: []object.Object{marked, bare},
	}) {
		got = append(got, string(s.Action)+" "+s.Object.Name)
	}
	if diff := cmp.Diff([]string{"remove label web", "remove finalizer web", "delete inventory"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
