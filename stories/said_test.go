package stories

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// secretsFail is a chart that fails in as many ways as it has modes, each because of a value; and the directories of Kustomizations that do.
const secretsFail = `
-- charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- charts/web/values.schema.json --
{"if": {"properties": {"mode": {"const": "schema"}}}, "then": {"properties": {"token": {"pattern": "^x$", "enum": ["x"], "maxLength": 3}}}}
-- charts/web/templates/web.yaml --
{{- if eq .Values.mode "fail" }}{{ fail (printf "no good: %s" .Values.token) }}{{ end }}
{{- if eq .Values.mode "call" }}{{ mustRegexMatch (print "(" .Values.token) "x" }}{{ end }}
{{- if eq .Values.mode "version" }}{{ semverCompare .Values.token "1.0.0" }}{{ end }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: "{{ .Release.Name }}"
  labels: {a: "{{ if eq .Values.mode "label" }}{{ .Values.token }}{{ end }}"}
data:
  a: b
{{- if eq .Values.mode "yaml" }}
 {{ .Values.token }}: : {{ .Values.token }}
{{- end }}
{{- if eq .Values.mode "type" }}
immutable: {{ .Values.token }}
{{- end }}
-- charts/web/templates/hook.yaml --
{{- if has .Values.mode (list "test" "pre-delete") }}
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-hook", annotations: {helm.sh/hook: "{{ .Values.mode }}"}}
immutable: {{ .Values.token }}
{{- end }}
-- app/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: ${token}
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: a, image: a}]}
-- label/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: labelled, namespace: NAMESPACE, labels: {a: "${token}"}}
-- held/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: NAMESPACE}
data: {a: "${token}"}
-- tried/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: tried, namespace: NAMESPACE, labels: {a: "${token}"}}
`

// TestWhatFailsBecauseOfASecretIsSaidWithoutIt: a status, an Event and the log have the failure, and *** for the value.
func TestWhatFailsBecauseOfASecretIsSaidWithoutIt(t *testing.T) {
	w := offWorld(t, secretsFail)
	log := w.logged(policy.Policy{})
	w.Apply(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: hidden, namespace: "+w.ns+"}\nstringData: {token: canary one}\n")
	for mode, part := range map[string]string{
		"fail": "no good: ***", "call": "mustRegexMatch", "version": "semverCompare", "label": "metadata.labels", "yaml": "web.yaml", "type": "immutable", "schema": "schema",
	} {
		w.release(mode, "  values: {mode: "+mode+"}\n  valuesFrom: [{kind: Secret, name: hidden, valuesKey: token, targetPath: token}]\n")
		w.helmFails(mode, part)
	}
	w.hooksFailBecauseOfASecret()
	for dir, mode := range map[string]string{"app": "client", "label": "none", "tried": "server"} {
		w.app(dir+"-"+mode, "./"+dir, "interval: 1h\nprune: true\nvalidation: "+mode+"\npostBuild: {substituteFrom: [{kind: Secret, name: hidden}]}")
		w.fails(dir+"-"+mode, map[string]string{"client": "replicas", "none": `"***"`, "server": `"***"`}[mode])
	}
	w.app("held", "./held", "interval: 1h\nprune: true\npostBuild: {substituteFrom: [{kind: Secret, name: hidden}]}")
	w.ready("held")
	w.lock(configmaps, "held", `messageExpression: "'not today, ' + object.data.a"`, func(ns string, try int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "probe", "namespace": ns}, "data": map[string]any{"a": strconv.Itoa(try)},
		}}
	})
	w.byHand("held", "a", "by hand")
	w.fails("held", "not today, ***")
	run := w.truce()
	_, got := run("app", "get", "held")
	_, why := run("why", "configmap/held")
	w.showsNoCanary(w.kubectl("get", "helmreleases.helm.toolkit.fluxcd.io", "-o", "yaml"), log(), got, why)
}

// hooksFailBecauseOfASecret has tests of releases fail, and the hook that runs before a release is uninstalled with its HelmRelease.
func (w *world) hooksFailBecauseOfASecret() {
	w.t.Helper()
	const from = "  valuesFrom: [{kind: Secret, name: hidden, valuesKey: token, targetPath: token}]\n"
	for name, test := range map[string]string{"tested": "{enable: true}", "ignored": "{enable: true, ignoreFailures: true}"} {
		w.release(name, "  values: {mode: test}\n  test: "+test+"\n"+from)
		w.helmCondition(name, "TestSuccess", func(c map[string]any) bool { return c["status"] == "False" && contains(c["message"], "immutable") })
	}
	w.release("leaves", "  values: {mode: pre-delete}\n"+from)
	w.released("leaves", 1, "1.0.0")
	w.delete(helmReleases, w.ns, "leaves")
	w.helmCondition("leaves", "Released", func(c map[string]any) bool {
		return c["reason"] == "UninstallFailed" && contains(c["message"], "immutable")
	})
	w.showsNoCanary(w.kubectl("get", "helmreleases.helm.toolkit.fluxcd.io", "-o", "yaml"))
	w.patch(helmReleases, "leaves", map[string]any{"spec": map[string]any{"uninstall": map[string]any{"disableHooks": true}}}, "kubectl")
	w.until("the HelmRelease is gone", func() bool { return w.get(helmReleases, "leaves") == nil })
}
