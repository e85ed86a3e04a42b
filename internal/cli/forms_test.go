package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// aController is a controller that works.
type aController struct{ Controllers }

func (aController) ControllerAbsence(context.Context, string) (string, error) { return "", nil }

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
		Controllers: aController{},
	}}}
	if code := Execute(t.Context(), env, b); code > 1 {
		t.Errorf("%s: exit code %d: %s", line, code, &errs)
	}
	return out.String(), errs.String()
}

// TestEachCommandTakesEachForm: a template or columns of the user's are what is printed, where a command has them in its --help.
func TestEachCommandTakesEachForm(t *testing.T) {
	for line, want := range map[string]string{
		"claims -o jsonpath={.items[0].kind}/{.items[?(@.id==\"keda\")].do}":                   "ClaimEntry/cede",
		"claims --explain hpa -o jsonpath={.id}":                                               "hpa",
		"claims --explain hpa -o go-template={{.id}},{{.do}}":                                  "hpa,cede",
		"claims --explain hpa -o custom-columns=ID:.id,DO:.do":                                 "ID    DO\nhpa   cede\n",
		"claims --live -A -o jsonpath={.items[*].claimant.name}":                               "web",
		"claims --live -A -o custom-columns=WHO:.claimant.name,MAX:.max --no-headers":          "web   9\n",
		"audit --explain -o jsonpath={.kind}":                                                  "AuditRuleList",
		"audit --explain=secret-string-data -o jsonpath={.severity}":                           "warning",
		"audit --explain=secret-string-data -o custom-columns=ID:.id,SEVERITY:.severity":       "ID                   SEVERITY\nsecret-string-data   warning\n",
		"get ks -n flux-system -o custom-columns=NAME:.metadata.name --no-header":              "web\n",
		"trace Pod/web-1 -o jsonpath={.kind}":                                                  "Trace",
		"app history ks/web -n flux-system -o custom-columns=ID:.id,REVISION:.revision":        "ID   REVISION\n7    main@sha1:0123456789abcdef0123456789abcdef01234567\n",
		"app history ks/web -n flux-system -o custom-columns=ID:.id --no-headers":              "7\n",
		"events -A -o jsonpath={.items[0].reason} --no-headers":                                "NewArtifact",
		"tree ks web -o jsonpath={.type}":                                                      "Tree",
		"version --client -o jsonpath={.kind}":                                                 "Version",
		"app get ks/web -n flux-system -o jsonpath={.metadata.name}{.kind} --no-headers":       "webApp",
		"app diff ks/web -n flux-system -o jsonpath={.metadata.name}{.kind}":                   "webDiff",
		"app get -n flux-system --all -o go-template={{.kind}}{{range.items}}{{.kind}}{{end}}": "AppListApp",
	} {
		if stdout, stderr := printed(t, line); stdout != want {
			t.Errorf("%s (-want +got):\n%s%s", line, cmp.Diff(want, stdout), stderr)
		}
	}
}

// TestTheFormIsThatOfTheQuestion: as in kubectl, an app that was named is an item, and apps that were selected are a list, whether they are one or more.
func TestTheFormIsThatOfTheQuestion(t *testing.T) {
	for line, want := range map[string]string{
		"app get web -n flux-system":                                 "App",
		"app get -n flux-system --all":                               "AppList",
		"app get -A":                                                 "AppList",
		"app get -n flux-system -l env=pr-42":                        "AppList",
		"app get web kustomization/web -n flux-system":               "AppList",
		"app diff web -n flux-system":                                "Diff",
		"app diff -n flux-system --all":                              "DiffList",
		"app diff --field-selector metadata.name=web -n flux-system": "DiffList",
		"diff kustomization web -n flux-system":                      "Diff",
		"trace Pod/web-1":                                            "Trace",
		"trace Pod/web-1 pod/web-1":                                  "TraceList",
	} {
		if stdout, stderr := printed(t, line+" -o jsonpath={.kind}"); stdout != want {
			t.Errorf("%s is %q, want %s: %s", line, stdout, want, stderr)
		}
	}
}

// TestNoHeadersLeavesOutTheHead: --no-headers takes the first line from each table, and nothing else.
func TestNoHeadersLeavesOutTheHead(t *testing.T) {
	for line, head := range map[string]string{
		"app list -A":                               "NAMESPACE ",
		"app history ks/web -n flux-system":         "ID ",
		"app history ks/web -n flux-system -o wide": "ID ",
		"claims":                                 "ID ",
		"claims -o wide":                         "ID ",
		"claims --live -A":                       "CLAIMANT ",
		"audit --explain":                        "RULE ",
		"app get ks/web -n flux-system":          "KIND ",
		"app get ks/web -n flux-system -o wide":  "KIND ",
		"app get grokdevops -n argocd":           "GROUP ",
		"app diff ks/web -n flux-system -o wide": "  FIELD ",
		"get ks -A":                              "NAMESPACE ",
		"events -A":                              "NAMESPACE ",
	} {
		whole, _ := printed(t, line)
		bare, stderr := printed(t, line+" --no-headers")
		if !hasLine(whole, head) || hasLine(bare, head) || hasLine(bare, "CONDITION ") {
			t.Errorf("%s --no-headers: %s\n%s", line, stderr, bare)
		}
		var want []string
		for _, l := range strings.Split(whole, "\n") {
			if !strings.HasPrefix(l, head) && !strings.HasPrefix(l, "CONDITION ") {
				want = append(want, strings.Join(strings.Fields(l), " "))
			}
		}
		var got []string
		for _, l := range strings.Split(bare, "\n") {
			got = append(got, strings.Join(strings.Fields(l), " "))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s --no-headers takes more than the head (-want +got):\n%s", line, diff)
		}
	}
}

func hasLine(text, start string) bool {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, start) {
			return true
		}
	}
	return false
}
