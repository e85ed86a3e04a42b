package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/truce-gitops/truce/internal/model/permissions"
)

// edit is a place of the base where the chart has a template instead. The text must be there, or the base has changed and the chart with it.
type edit struct{ text, template string }

// part is one file of the chart's templates.
type part struct {
	name string
	from string   // a directory of deploy/ to build, or a YAML file
	keep []string // of what is built: "Kind/name"; none for all
	when string   // the condition of the template; empty for always
	each string   // a list of namespaces: once for each
	edit []edit
}

// everywhere is replaced in every file.
var everywhere = []edit{
	{"namespace: truce-system", "namespace: {{ .Release.Namespace }}"},
	{"- " + permissions.WitnessPrefix + "truce-system\n", "- " + permissions.WitnessPrefix + "{{ .Values.runtimeNamespace | default .Release.Namespace }}\n"},
	{"app.kubernetes.io/instance: truce\n", "app.kubernetes.io/instance: {{ .Release.Name }}\n"},
	{"app.kubernetes.io/version: VERSION\n", "app.kubernetes.io/version: {{ .Chart.AppVersion }}\n"},
}

// actsAsAccounts is whether truce acts as the service accounts of apps.
const actsAsAccounts = "(or .Values.multiTenant.enabled .Values.rbac.tenants)"

var parts = []part{
	{name: "serviceaccount", from: "base", keep: []string{"ServiceAccount/truce"}, edit: []edit{
		{"metadata:\n", "metadata:\n  {{- with .Values.serviceAccount.annotations }}\n  annotations: {{- toYaml . | nindent 4 }}\n  {{- end }}\n"},
	}},
	{name: "users", from: "base", when: ".Values.rbac.create", keep: []string{"ClusterRole/truce-view", "ClusterRole/truce-page", "Role/truce-page", "Role/truce-flags", "RoleBinding/truce-flags", "Role/truce-home", "RoleBinding/truce-home"}},
	{name: "deployment", from: "base", keep: []string{"Deployment/truce"}, edit: deploymentEdits},
	{name: "service", from: "base", keep: []string{"Service/truce"}},
	{name: "poddisruptionbudget", from: "base", keep: []string{"PodDisruptionBudget/truce"}, when: ".Values.podDisruptionBudget.enabled"},
	{name: "networkpolicy", from: "base", keep: []string{"NetworkPolicy/truce"}, when: ".Values.networkPolicy.enabled", edit: []edit{
		{"    - port: http\n      protocol: TCP\n", "    - port: http\n      protocol: TCP\n" +
			"    {{- if .Values.page.enabled }}\n    - port: page\n      protocol: TCP\n    {{- end }}\n" +
			"    {{- if .Values.witness.enabled }}\n    - port: witness\n      protocol: TCP\n    {{- end }}\n" +
			"    {{- if .Values.webhook.enabled }}\n    - port: webhook\n      protocol: TCP\n    {{- end }}\n"},
	}},
	{name: "rbac-controller", from: "rbac/controller", when: `and .Values.rbac.create (ne .Values.mode "observe") (not .Values.namespaces)`},
	{name: "rbac-objects", from: "rbac/objects", when: `and .Values.rbac.create (ne .Values.mode "observe") (not .Values.namespaces) (eq .Values.rbac.objects "all-kinds")`},
	{name: "rbac-cluster-admin", from: "rbac/cluster-admin", when: `and .Values.rbac.create (ne .Values.mode "observe") (not .Values.namespaces) (eq .Values.rbac.objects "cluster-admin")`},
	{name: "rbac-observe", from: "rbac/observe", when: `and .Values.rbac.create (eq .Values.mode "observe") (not .Values.namespaces)`},
	{name: "rbac-tenants", from: "rbac/tenants", when: "and .Values.rbac.create (not .Values.namespaces) " + actsAsAccounts},
	{name: "rbac-namespaces-roles", from: "rbac/one-namespace", when: "and .Values.rbac.create .Values.namespaces", keep: []string{"ClusterRole/truce-controller", "ClusterRole/truce-objects"}},
	{
		name: "rbac-namespaces", from: "rbac/one-namespace", when: ".Values.rbac.create", each: ".Values.namespaces",
		keep: []string{"RoleBinding/truce-controller", "RoleBinding/truce-objects"}, edit: []edit{{"namespace: team-a\n", "namespace: {{ . }}\n"}},
	},
	{name: "rbac-tenants-namespaces-role", from: "rbac/tenants-one-namespace", when: "and .Values.rbac.create .Values.namespaces " + actsAsAccounts, keep: []string{"ClusterRole/truce-tenants"}},
	{
		name: "rbac-tenants-namespaces", from: "rbac/tenants-one-namespace", when: "and .Values.rbac.create " + actsAsAccounts, each: ".Values.namespaces",
		keep: []string{"RoleBinding/truce-tenants"}, edit: []edit{{"namespace: team-a\n", "namespace: {{ . }}\n"}},
	},
	{name: "page", from: "page/service.yaml", when: ".Values.page.enabled"},
	{name: "witness", from: "witness/service.yaml", when: ".Values.witness.enabled"},
	{name: "webhook", from: "webhook/service.yaml", when: ".Values.webhook.enabled"},
	{name: "servicemonitor", from: "servicemonitor/servicemonitor.yaml", when: ".Values.serviceMonitor.enabled", edit: []edit{
		{"  labels:\n", "  labels:\n    {{- with .Values.serviceMonitor.labels }}{{ toYaml . | nindent 4 }}{{ end }}\n"},
	}},
	{name: "persistentvolumeclaim", from: "persistent/persistentvolumeclaim.yaml", when: ".Values.persistence.enabled", edit: []edit{
		{"      storage: 4Gi\n", "      storage: {{ .Values.persistence.size }}\n"},
		{"  accessModes:", "  {{- with .Values.persistence.storageClass }}\n  storageClassName: {{ . }}\n  {{- end }}\n  accessModes:"},
	}},
}

var deploymentEdits = []edit{
	{"  replicas: 2\n", "  replicas: {{ if .Values.persistence.enabled }}1{{ else }}{{ .Values.replicas }}{{ end }}\n"},
	{
		"  strategy:\n    rollingUpdate:\n      maxSurge: 1\n      maxUnavailable: 0\n    type: RollingUpdate\n",
		"  strategy:\n    {{- if .Values.persistence.enabled }}\n    type: Recreate\n    {{- else }}\n    rollingUpdate:\n      maxSurge: 1\n      maxUnavailable: 0\n    type: RollingUpdate\n    {{- end }}\n",
	},
	{"  template:\n    metadata:\n      labels:\n", "  template:\n    metadata:\n      {{- with .Values.podAnnotations }}\n      annotations: {{- toYaml . | nindent 8 }}\n      {{- end }}\n      labels:\n" +
		"        {{- with .Values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}\n"},
	{"        - --listen=127.0.0.1:8081\n", "        - --listen={{ if .Values.page.enabled }}0.0.0.0{{ else }}127.0.0.1{{ end }}:8081\n"},
	{"        - --log-format=json\n", "        - --log-format=json\n" +
		"        {{- if ne .Values.mode \"enforce\" }}\n        - --mode=observe\n        {{- end }}\n" +
		"        {{- range .Values.namespaces }}\n        - --namespace={{ . }}\n        {{- end }}\n" +
		"        {{- if .Values.page.enabled }}\n        - --page-service={{ .Release.Namespace }}/truce-page\n        {{- end }}\n" +
		"        {{- with .Values.runtimeNamespace }}\n        - --runtime-namespace={{ . }}\n        {{- end }}\n" +
		"        {{- if .Values.witness.enabled }}\n        - --witness\n        - --witness-listen=0.0.0.0:9443\n        - --witness-service={{ .Release.Namespace }}/truce-witness\n        {{- end }}\n" +
		"        {{- if .Values.webhook.enabled }}\n        - --webhook-addr=0.0.0.0:9292\n        - --webhook-service={{ .Release.Namespace }}/truce-webhook\n        {{- end }}\n" +
		"        {{- if .Values.multiTenant.enabled }}\n        - --multi-tenant\n        {{- with .Values.multiTenant.adminNamespaces }}\n        - --admin-namespaces={{ join \",\" . }}\n        {{- end }}\n        {{- end }}\n" +
		"        {{- range .Values.args }}\n        - {{ . | quote }}\n        {{- end }}\n"},
	{"              fieldPath: status.podIP\n", "              fieldPath: status.podIP\n" +
		"        {{- with .Values.env }}{{ toYaml . | nindent 8 }}{{ end }}\n"},
	{"        image: truce\n", "        image: {{ include \"truce.image\" . }}\n        {{- with .Values.image.pullPolicy }}\n        imagePullPolicy: {{ . }}\n        {{- end }}\n"},
	{"        - containerPort: 8080\n          name: http\n", "        - containerPort: 8080\n          name: http\n" +
		"        {{- if .Values.page.enabled }}\n        - containerPort: 8081\n          name: page\n        {{- end }}\n" +
		"        {{- if .Values.witness.enabled }}\n        - containerPort: 9443\n          name: witness\n        {{- end }}\n" +
		"        {{- if .Values.webhook.enabled }}\n        - containerPort: 9292\n          name: webhook\n        {{- end }}\n"},
	{"        resources:\n          limits:\n            memory: 1Gi\n          requests:\n            cpu: 100m\n            memory: 128Mi\n", "        resources: {{- toYaml .Values.resources | nindent 10 }}\n"},
	{"      serviceAccountName: truce\n", "      serviceAccountName: truce\n" +
		"      {{- with .Values.image.pullSecrets }}\n      imagePullSecrets: {{- toYaml . | nindent 6 }}\n      {{- end }}\n" +
		"      {{- with .Values.tolerations }}\n      tolerations: {{- toYaml . | nindent 6 }}\n      {{- end }}\n" +
		"      {{- with .Values.affinity }}\n      affinity: {{- toYaml . | nindent 8 }}\n      {{- end }}\n" +
		"      {{- with .Values.priorityClassName }}\n      priorityClassName: {{ . }}\n      {{- end }}\n"},
	{"      nodeSelector:\n        kubernetes.io/arch: amd64\n", "      {{- with .Values.nodeSelector }}\n      nodeSelector: {{- toYaml . | nindent 8 }}\n      {{- end }}\n"},
	{"      - emptyDir:\n          sizeLimit: 4Gi\n        name: data\n", "      - name: data\n        {{- if .Values.persistence.enabled }}\n        persistentVolumeClaim:\n          claimName: truce\n        {{- else }}\n" +
		"        emptyDir:\n          sizeLimit: {{ .Values.persistence.size }}\n        {{- end }}\n"},
}

const templateHead = "{{- /* Generated from deploy/%s by `make gen`; do not edit. */ -}}\n"

// addChart adds the generated files of the chart: its templates, and copies of the CustomResourceDefinitions.
func addChart(dir, version string, files map[string][]byte) error {
	for _, p := range parts {
		text, err := p.template(dir, version)
		if err != nil {
			return fmt.Errorf("chart template %s: %w", p.name, err)
		}
		files["chart/templates/"+p.name+".yaml"] = []byte(text)
	}
	definitions, err := filepath.Glob(filepath.Join(dir, "crds", "*s.yaml"))
	if err != nil {
		return err
	}
	for _, path := range definitions {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files["chart/files/crds/"+filepath.Base(path)] = text
	}
	files["chart/Chart.yaml"] = fmt.Appendf(nil, chartYAML, strings.TrimPrefix(version, "v"), version)
	return nil
}

const chartYAML = `# Generated from deploy/VERSION by ` + "`make gen`" + `; do not edit.
apiVersion: v2
name: truce
type: application
description: Keeps a cluster equal to Git, field by field, and does not fight the other controllers that write to it
version: %s
appVersion: %s
kubeVersion: ">=1.29.0-0"
home: https://github.com/truce-gitops/truce
sources:
- https://github.com/truce-gitops/truce
keywords: [gitops, flux, argocd, drift]
`

func (p part) template(dir, version string) (string, error) {
	text, err := p.source(dir)
	if err != nil {
		return "", err
	}
	for _, e := range everywhere {
		text = strings.ReplaceAll(text, strings.Replace(e.text, "VERSION", version, 1), e.template)
	}
	for _, e := range p.edit {
		if !strings.Contains(text, e.text) {
			return "", fmt.Errorf("deploy/%s has no %q any more", p.from, e.text)
		}
		text = strings.ReplaceAll(text, e.text, e.template)
	}
	return fmt.Sprintf(templateHead, p.from) + p.wrapped(text), nil
}

func (p part) wrapped(text string) string {
	if p.each != "" {
		text = "{{- range " + p.each + " }}\n---\n" + strings.ReplaceAll(strings.ReplaceAll(text, ".Release", "$.Release"), ".Chart", "$.Chart") + "{{- end }}\n"
	}
	if p.when != "" {
		text = "{{- if " + p.when + " }}\n" + text + "{{- end }}\n"
	}
	return text
}

// source returns the documents that the file is made of.
func (p part) source(dir string) (string, error) {
	path := filepath.Join(dir, p.from)
	if strings.HasSuffix(path, ".yaml") {
		text, err := os.ReadFile(path)
		return string(text), err
	}
	built, err := kustomizeBuild(path)
	if err != nil || p.keep == nil {
		return built, err
	}
	var kept []string
	for doc := range strings.SplitSeq(built, "\n---\n") {
		doc = strings.TrimSuffix(doc, "\n") + "\n"
		if p.keeps(doc) {
			kept = append(kept, doc)
		}
	}
	if len(kept) != len(p.keep) {
		return "", fmt.Errorf("deploy/%s has %d of %q", p.from, len(kept), p.keep)
	}
	return strings.Join(kept, "---\n"), nil
}

func (p part) keeps(doc string) bool {
	for _, k := range p.keep {
		kind, name, _ := strings.Cut(k, "/")
		if strings.Contains(doc, "\nkind: "+kind+"\n") && strings.Contains(doc, "\n  name: "+name+"\n") {
			return true
		}
	}
	return false
}
