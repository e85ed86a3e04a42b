package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// printed runs a command against one Kustomization, one Application and one claimant.
func printed(t *testing.T, line string) (stdout, stderr string) {
	t.Helper()
	hpa := object.Object{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": int64(9)}}
	apps := someApps{keys: []app.Key{{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, grokdevops}}
	var out, errs bytes.Buffer
	env := Environment{Out: &out, Err: &errs, Program: "truce", Args: parted(line), Getenv: func(string) string { return "" }}
	b := Backend{Clusters: answers{Cluster{
		AppReader: apps, ObjectReader: someClaimants{found: claim.Builtin().Read(hpa)}, Resources: someResources{all: printedResources()}, Lineage: someLineage{},
	}}}
	if code := Execute(t.Context(), env, b); code > 1 {
		t.Errorf("%s: exit code %d: %s", line, code, &errs)
	}
	return out.String(), errs.String()
}

// TestEachCommandTakesEachForm: a template or columns of the user's are what is printed, where a command has them in its --help.
func TestEachCommandTakesEachForm(t *testing.T) {
	for line, want := range map[string]string{
		"claims -o jsonpath={.items[0].kind}/{.items[?(@.id==\"keda\")].do}":             "ClaimEntry/cede",
		"claims --explain hpa -o jsonpath={.id}":                                         "hpa",
		"claims --explain hpa -o go-template={{.id}},{{.do}}":                            "hpa,cede",
		"claims --explain hpa -o custom-columns=ID:.id,DO:.do":                           "ID    DO\nhpa   cede\n",
		"claims --live -A -o jsonpath={.items[*].claimant.name}":                         "web",
		"claims --live -A -o custom-columns=WHO:.claimant.name,MAX:.max --no-headers":    "web   9\n",
		"audit --explain -o jsonpath={.kind}":                                            "AuditRuleList",
		"audit --explain=secret-string-data -o jsonpath={.severity}":                     "warning",
		"audit --explain=secret-string-data -o custom-columns=ID:.id,SEVERITY:.severity": "ID                   SEVERITY\nsecret-string-data   warning\n",
		"trace Pod/web-1 -o jsonpath={.kind}":                                            "Trace",
		"app history ks/web -n flux-system -o custom-columns=ID:.id,REVISION:.revision":  "ID   REVISION\n7    main@sha1:0123456789abcdef0123456789abcdef01234567\n",
		"app history ks/web -n flux-system -o custom-columns=ID:.id --no-headers":        "7\n",
		"events -A -o jsonpath={.items[0].reason} --no-headers":                          "NewArtifact",
		"tree ks web -o jsonpath={.type}":                                                "Tree",
		"version --client -o jsonpath={.kind}":                                           "Version",
		"app get ks/web -n flux-system -o jsonpath={.metadata.name}{.kind} --no-headers": "webApp",
		"app diff ks/web -n flux-system -o jsonpath={.metadata.name}{.kind}":             "webDiff",
	} {
		if stdout, stderr := printed(t, line); stdout != want {
			t.Errorf("%s (-want +got):\n%s%s", line, cmp.Diff(want, stdout), stderr)
		}
	}
}
