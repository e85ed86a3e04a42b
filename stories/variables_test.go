package stories

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"github.com/truce-gitops/truce/internal/testing/sopstest"
)

// filled are manifests with variables.
const filled = `
-- app/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: NAMESPACE}
data:
  env: "${env}"
  tier: "${tier}"
  region: ${region:=eu-west-1}
  literal: $${env}
-- app/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: ${count}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/web:1
        env: [{name: PASSWORD, value: "${password}"}, {name: OPEN, value: plain}]
`

const variableSpec = `
interval: 1h
postBuild:
  substitute: {tier: front}
  substituteFrom:
  - {kind: ConfigMap, name: settings}
  - {kind: Secret, name: hidden}
  - {kind: ConfigMap, name: none, optional: true}`

// variableObjects are what the variables come from; a change of either asks for a run.
const variableObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAMESPACE, labels: {reconcile.fluxcd.io/watch: Enabled}}
data: {env: staging, tier: back, count: "2", password: overridden}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden, namespace: NAMESPACE, labels: {reconcile.fluxcd.io/watch: Enabled}}
stringData: {password: PASSWORD}
`

func passwordOf(o *unstructured.Unstructured) string {
	for _, c := range entries(o, "spec", "template", "spec", "containers") {
		list, _ := c["env"].([]any)
		for _, e := range list {
			if m, _ := e.(map[string]any); m["name"] == "PASSWORD" {
				value, _ := m["value"].(string)
				return value
			}
		}
	}
	return ""
}

// sharedBuffer is a log that a story reads while truce writes it.
type sharedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *sharedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestVariablesAreReplacedInWhatAKustomizationBuilds(t *testing.T) {
	w := offWorld(t, filled)
	var log sharedBuffer
	stop := w.run(compose.RunOptions{Settings: controller.Settings{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}})
	values := func(password string) {
		w.Apply(t, strings.NewReplacer("NAMESPACE", w.ns, "PASSWORD", password).Replace(variableObjects))
	}
	values("canary-one")
	status, record := w.Watch(t, kustomizations, w.ns, "web"), w.Watch(t, configmaps, w.ns, "truce-inventory-kustomization-web")
	w.app("web", "app", variableSpec)
	w.ready("web")
	cm := w.get(configmaps, "web")
	if text(cm, "data", "env") != "staging" || text(cm, "data", "tier") != "front" || text(cm, "data", "region") != "eu-west-1" || text(cm, "data", "literal") != "${env}" {
		t.Errorf("the ConfigMap holds %v", cm.Object["data"])
	}
	r, s := w.Watch(t, deployments, w.ns, "web"), w.Watch(t, configmaps, w.ns, "web")
	w.await(r, func(o *unstructured.Unstructured) bool { return replicas(o) == 2 && passwordOf(o) == "canary-one" })

	// A change of what the variables come from is applied without a commit and without a request.
	w.kubectl("patch", "configmap/settings", "-p", `{"data":{"env":"production"}}`)
	w.await(s, func(o *unstructured.Unstructured) bool { return text(o, "data", "env") == "production" })
	values("canary-two")
	w.await(r, func(o *unstructured.Unstructured) bool { return passwordOf(o) == "canary-two" })

	// Drift of such a field is corrected, and its values are shown nowhere.
	w.undone(r, func() { w.kubectl("set", "env", "deployment/web", "PASSWORD=canary-by-hand") },
		func(o *unstructured.Unstructured) bool { return passwordOf(o) == "canary-by-hand" },
		func(o *unstructured.Unstructured) bool { return passwordOf(o) == "canary-two" })
	run := w.truce()
	var said strings.Builder
	look := func() {
		for _, args := range []string{"app diff web", "app get web -o yaml", "why deployment/web", "blame deployment/web", "history", "why deployment/web -o json", "get apps"} {
			_, text := run(strings.Fields(args)...)
			said.WriteString(text)
		}
	}
	w.saysOf(run, 0, "why deployment/web .spec.replicas", "app/web.yaml:5 (manifest, with key count of ConfigMap "+w.ns+"/settings) says so")
	w.saysOf(run, 0, "why configmap/web .data.tier", "with spec.postBuild.substitute.tier of Kustomization "+w.ns+"/web")
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	w.kubectl("set", "env", "deployment/web", "PASSWORD=canary-by-hand", "OPEN=canary-free")
	w.saysOf(run, 1, "app diff web", "PASSWORD", "***", "canary-free")
	look()
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"suspend":null}}`)
	w.await(r, func(o *unstructured.Unstructured) bool { return passwordOf(o) == "canary-two" })

	// What the API server refuses is reported without the value that it quotes.
	w.kubectl("patch", "secret/hidden", "-p", `{"stringData":{"count":"canary-count"}}`)
	w.fails("web", ".spec.replicas: expected numeric")
	look()
	w.kubectl("patch", "secret/hidden", "--type=json", "-p", `[{"op":"remove","path":"/data/count"}]`)
	w.ready("web")

	// A variable without value, and a reference that is missing, are build failures that name them; nothing is pruned.
	w.kubectl("patch", "secret/hidden", "--type=json", "-p", `[{"op":"remove","path":"/data/password"}]`)
	w.kubectl("patch", "configmap/settings", "--type=json", "-p", `[{"op":"remove","path":"/data/password"}]`)
	w.fails("web", `app/web.yaml:13: variable not set (strict mode): "password" in Deployment.apps `+w.ns+"/web")
	w.kubectl("delete", "secret/hidden")
	w.fails("web", "substitute from 'Secret/hidden' error: it is not in namespace "+w.ns)
	if reason := w.reason("web"); reason != "BuildFailed" {
		t.Errorf("the reason is %s", reason)
	}
	look()
	if gone := w.deletes(); len(gone) > 0 {
		t.Errorf("deleted: %q", gone)
	}
	values("canary-three")
	w.await(r, func(o *unstructured.Unstructured) bool { return passwordOf(o) == "canary-three" })
	w.ready("web")
	w.removeApps()
	stop()
	w.showsNoCanary(append(w.valuesOf(status, record), said.String(), log.String())...)
}

// reason is that of the app's Ready condition.
func (w *world) reason(name string) (reason string) {
	w.condition(name, "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		reason, _ = c["reason"].(string)
		return true
	})
	return reason
}

// valuesOf are all values that the objects have had, each of at least one.
func (w *world) valuesOf(recorders ...*kubetest.Recorder) []string {
	w.t.Helper()
	var out []string
	for i, r := range recorders {
		values := r.Values()
		if len(values) == 0 {
			w.t.Errorf("object %d of those to be searched was never there", i)
		}
		for _, v := range values {
			out = append(out, fmt.Sprint(v.Object.Object))
		}
	}
	return out
}

// showsNoCanary fails the story if a secret value is in a text, a status, an Event, an inventory or a file of truce.
func (w *world) showsNoCanary(texts ...string) {
	w.t.Helper()
	texts = append(texts, w.kubectl("get", "kustomizations.kustomize.toolkit.fluxcd.io,gitrepositories.source.toolkit.fluxcd.io,events.v1.events.k8s.io", "-o", "yaml"))
	texts = append(texts, w.kubectl("get", "configmaps", "-l", configmap.Label, "-o", "yaml"))
	err := filepath.WalkDir(w.cache, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		texts = append(texts, string(data))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, text := range texts {
		text = strings.ReplaceAll(text, "canary-free", "")
		if at := strings.Index(text, "canary"); at >= 0 {
			w.t.Errorf("a secret value is shown: …%s…", text[max(0, at-300):min(len(text), at+60)])
		}
	}
}

func TestATenantsVariablesAreReadAsItsAccount(t *testing.T) {
	k := sopstest.NewKey(t)
	_, a, b := tenants(t, map[string]string{
		"ours/cm.yaml":   "{apiVersion: v1, kind: ConfigMap, metadata: {name: ours, namespace: NS-A}, data: {k: '${v}'}}\n",
		"sealed/cm.yaml": k.YAML(t, "^url$", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sealed}\ndata:\n  url: decrypted\n"),
	})
	a.lets("default", a.ns, allOfConfigMaps+`, {apiGroups: [""], resources: [secrets], resourceNames: [sops-keys], verbs: [get]}`)
	for _, w := range []*world{a, b} {
		w.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: hidden, namespace: "+w.ns+"}, stringData: {v: x}}\n")
		w.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: open, namespace: "+w.ns+"}, data: {v: open}}\n")
	}
	a.app("ours", "./ours", "interval: 1h\npostBuild: {substituteFrom: [{kind: ConfigMap, name: open}]}")
	a.ready("ours")
	if v := text(a.get(configmaps, "ours"), "data", "k"); v != "open" {
		t.Errorf("the variable is %q", v)
	}
	a.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/ours", "--type=merge", "-p", `{"spec":{"postBuild":{"substituteFrom":[{"kind":"Secret","name":"hidden"}]}}}`)
	a.fails("ours", "substitute from 'Secret/hidden' error", `User "`+a.user("default")+`" cannot get resource "secrets"`)
	if v := text(a.get(configmaps, "ours"), "data", "k"); v != "open" {
		t.Errorf("the variable is %q", v)
	}
	// The keys of encrypted files are read as the account, too.
	a.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/ours", "--type=merge", "-p", `{"spec":{"postBuild":null,"decryption":{"provider":"sops","secretRef":{"name":"hidden"}}}}`)
	a.fails("ours", "cannot get sops decryption Secret '"+a.ns+"/hidden'", `User "`+a.user("default")+`" cannot get resource "secrets"`)
	a.decryptionSecret(k)
	a.app("sealed", "./sealed", "interval: 1h\ntargetNamespace: "+a.ns+"\ndecryption: {provider: sops, secretRef: {name: sops-keys}}")
	a.ready("sealed")
	if v := text(a.get(configmaps, "sealed"), "data", "url"); v != "decrypted" {
		t.Errorf("the encrypted value is %q", v)
	}
	readers := map[string]bool{}
	for _, e := range a.Audit(t, func(e kubetest.Entry) bool { return e.Verb == "get" && e.Namespace == a.ns && e.Name == "sops-keys" }) {
		readers[e.User] = true
	}
	if len(readers) != 1 || !readers[a.user("default")] {
		t.Errorf("the keys were read as %v", readers)
	}
}

// TestASelectorSaysWhichConfigsAreWatched: as kustomize-controller's flag --watch-configs-label-selector.
func TestASelectorSaysWhichConfigsAreWatched(t *testing.T) {
	const configMap = "-- %s/web.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s, namespace: NAMESPACE}, data: {env: \"${env}\"}}\n"
	w := offWorld(t, fmt.Sprintf(configMap, "web")+fmt.Sprintf(configMap, "left"))
	selector, err := labels.Parse("owner!=helm")
	if err != nil {
		t.Fatal(err)
	}
	w.run(compose.RunOptions{Settings: controller.Settings{WatchConfigs: selector}})
	for name, owner := range map[string]string{"web": "person", "left": "helm"} {
		w.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings-"+name+", namespace: "+w.ns+", labels: {owner: "+owner+"}}, data: {env: staging}}\n")
		w.app(name, name, "interval: 1h\npostBuild: {substituteFrom: [{kind: ConfigMap, name: settings-"+name+"}]}")
		w.ready(name)
	}
	// The one that the selector leaves out is changed first: what a watch showed of it would have come before.
	has := func(env string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return text(o, "data", "env") == env }
	}
	w.kubectl("patch", "configmap/settings-left", "-p", `{"data":{"env":"production"}}`)
	w.kubectl("patch", "configmap/settings-web", "-p", `{"data":{"env":"production"}}`)
	w.await(w.Watch(t, configmaps, w.ns, "web"), has("production"))
	if !has("staging")(w.get(configmaps, "left")) {
		t.Error("a ConfigMap that the selector leaves out was watched")
	}
	w.check("left")
	w.await(w.Watch(t, configmaps, w.ns, "left"), has("production"))
}
