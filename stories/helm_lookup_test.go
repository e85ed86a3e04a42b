package stories

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// chartWithLookups keeps the password that it has made once, and asks the cluster for what is there.
const chartWithLookups = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/values.yaml --
hidden: NAMESPACE
many: 0
-- charts/web/templates/web.yaml --
{{- $ns := .Release.Namespace }}
{{- $password := randAlphaNum 20 }}
{{- with lookup "v1" "Secret" $ns (printf "%s-auth" .Release.Name) }}{{ $password = .data.password | b64dec }}{{ end }}
{{- range $i := until (int .Values.many) }}{{ $_ := lookup "v1" "ConfigMap" $ns (printf "none-%d" $i) }}{{ end }}
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-auth}
data: {password: {{ $password | b64enc | quote }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  flag: {{ ((lookup "v1" "ConfigMap" $ns "flag").data).flag | default "none" | quote }}
  token: "{{ with lookup "v1" "Secret" .Values.hidden "hidden" }}token {{ .data.token | b64dec }}{{ end }}"
  flags: "{{ range (lookup "v1" "ConfigMap" $ns "").items }}{{ with .data.flag }}x{{ end }}{{ end }}"
  definition: {{ kindOf (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "helmreleases.helm.toolkit.fluxcd.io").spec | quote }}
  absent: {{ len (lookup "example.org/v1" "Absent" $ns "x") | quote }}
  revision: {{ .Release.Revision | quote }}
`

// TestAChartAsksTheCluster: what its templates get by lookup is what the cluster of the release holds, and the account of the release may read.
func TestAChartAsksTheCluster(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithLookups)
	w.Apply(t, strings.ReplaceAll(helmValues, "NAMESPACE", w.ns))
	for _, scene := range []struct {
		name string
		play func(*world)
	}{
		{"a password is kept over an upgrade, and nothing else makes a release", keptPassword},
		{"what Secrets hold is masked", maskedLookups},
		{"an account asks for what it may read", lookupsOfATenant},
		{"there are limits", limitedLookups},
	} {
		scene.play(w)
		if t.Failed() {
			t.Fatalf("in the scene: %s", scene.name)
		}
	}
	w.showsNoCanary(w.kubectl("get", "helmreleases.helm.toolkit.fluxcd.io", "-o", "yaml"))
}

// passwordOfRelease is the password that a release has made.
func (w *world) passwordOfRelease(name string) string {
	w.t.Helper()
	return strings.TrimSpace(w.kubectl("get", "secret", name+"-auth", "-o", "jsonpath={.data.password}"))
}

func keptPassword(w *world) {
	w.release("kept", "")
	w.released("kept", 1, "1.0.0")
	first := w.passwordOfRelease("kept")
	o := w.get(configmaps, "kept")
	for key, want := range map[string]string{"flag": "none", "flags": "", "token": "token canary-one", "definition": "map", "absent": "0"} {
		if got := text(o, "data", key); got != want {
			w.t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	w.kubectl("create", "configmap", "flag", "--from-literal=flag=up")
	w.annotate(helmReleases, "kept", "reconcile.fluxcd.io/requestedAt", "look")
	w.await(w.Watch(w.t, helmReleases, w.ns, "kept"), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledReconcileAt") == "look" })
	if got := w.storedReleases("kept") + " " + text(w.get(configmaps, "kept"), "data", "flag"); got != "1:deployed none" {
		w.t.Errorf("what the cluster holds now has made %s", got)
	}
	w.edit("charts/web/Chart.yaml", "1.0.0", "1.1.0")
	w.released("kept", 2, "1.1.0")
	w.holds("kept", "flag", "up")
	w.holds("kept", "revision", "2")
	if got := w.passwordOfRelease("kept"); got != first || first == "" {
		w.t.Error("the upgrade has made another password")
	}
}

func maskedLookups(w *world) {
	truce := w.truce()
	w.saysOf(truce, 0, "diff helmrelease kept", "no differences", "kept.v2 stays the newest one")
	w.patch(helmReleases, "kept", map[string]any{"spec": map[string]any{"suspend": true}}, "kubectl")
	w.byHand("kept", "token", "canary-by-hand")
	for _, command := range []string{"diff helmrelease kept", "why configmap/kept .data.token", "blame configmap/kept", "build helmrelease kept"} {
		_, said := truce(strings.Fields(command)...)
		if !strings.Contains(said, "token") || strings.Contains(said, "canary") {
			w.t.Errorf("truce %s:\n%s", command, said)
		}
	}
	w.kubectl("patch", "configmap/flag", "-p", `{"data":{"flag":"down"}}`)
	w.repo.Branch("next", "")
	w.repo.CommitTo("next", map[string]string{"charts/web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.2.0}\n"}, "another version")
	w.saysOf(truce, 1, "app diff helmrelease/kept --revision next", `"down"`, "kept.v3 would be made (upgrade), of chart web@1.2.0")
}

func lookupsOfATenant(w *world) {
	w.impersonates()
	w.lets("tenant", w.ns, `{apiGroups: [""], resources: [configmaps, secrets], verbs: ["*"]}`)
	spec := "  serviceAccountName: tenant\n  values: {hidden: NAMESPACE}\n"
	w.release("tenant", strings.ReplaceAll(spec, "NAMESPACE", "kube-system"))
	w.helmFails("tenant", `charts/web/templates/web.yaml:`)
	w.helmFails("tenant", `User "`+w.user("tenant")+`" cannot get resource "secrets" in API group "" in the namespace "kube-system"`)
	if w.get(configmaps, "tenant") != nil || w.storedReleases("tenant") != "" {
		w.t.Error("a release was made without the answer")
	}
	for _, e := range w.Audit(w.t, func(e kubetest.Entry) bool { return e.Name == "hidden" && e.Namespace == "kube-system" }) {
		if e.User != w.user("tenant") {
			w.t.Errorf("%s of the Secret was made as %s", e.Verb, e.User)
		}
	}
}

func limitedLookups(w *world) {
	w.release("many", "  values: {many: 201}\n")
	w.helmFails("many", "the chart asks for more than 200 objects or lists")
	w.release("few", "")
	w.released("few", 1, "1.1.0")
	w.holds("few", "token", "token canary-one")
}
