package stories

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/testing/sopstest"
)

// sealed are the files of an app before they are encrypted, by the keys whose values are.
func sealed(w *world, k sopstest.Key, password string) map[string]string {
	in := strings.NewReplacer("NAMESPACE", w.ns, "PASSWORD", password).Replace
	return map[string]string{
		"app/kustomization.yaml": in("namespace: NAMESPACE\nresources: [secret.yaml, config.yaml, open.yaml]\nsecretGenerator:\n- {name: env, envs: [values.env], options: {disableNameSuffixHash: true}}\n"),
		"app/secret.yaml":        k.YAML(w.t, "^(data|stringData)$", in("apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData:\n  password: PASSWORD\n")),
		"app/config.yaml":        k.YAML(w.t, "^url$", in("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata:\n  url: postgres://PASSWORD@db\n  open: to-all\n")),
		"app/open.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: open}\ndata: {k: v}\n",
		"app/values.env":         k.Dotenv(w.t, in("TOKEN=PASSWORD-env\n")),
	}
}

// decryptionSecret applies the Secret with the keys; a change of it asks for a run.
func (w *world) decryptionSecret(k sopstest.Key) {
	w.t.Helper()
	w.Apply(w.t, "apiVersion: v1\nkind: Secret\nmetadata: {name: sops-keys, namespace: "+w.ns+", labels: {reconcile.fluxcd.io/watch: Enabled}}\ndata: {test.agekey: "+
		base64.StdEncoding.EncodeToString([]byte(k.Secret()))+", sops.aws-kms: YQ==}")
}

func TestEncryptedFilesAreDecryptedAndShownNowhere(t *testing.T) {
	w := offWorld(t, configMaps("other", "unused"))
	var log sharedBuffer
	stop := w.run(compose.RunOptions{Settings: controller.Settings{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}})
	first, second := sopstest.NewKey(t), sopstest.NewKey(t)
	w.repo.Commit(sealed(w, first, "canary-one"), "encrypted")
	w.decryptionSecret(first)
	status, record := w.Watch(t, kustomizations, w.ns, "web"), w.Watch(t, configmaps, w.ns, "truce-inventory-kustomization-web")
	w.app("web", "app", "\ninterval: 1h\ndecryption: {provider: sops, secretRef: {name: sops-keys}}")
	w.ready("web")
	plain := func(name, key string) string {
		data, err := base64.StdEncoding.DecodeString(text(w.get(secrets, name), "data", key))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if a, b := plain("db", "password"), plain("env", "TOKEN"); a != "canary-one" || b != "canary-one-env" {
		t.Errorf("the Secrets hold %q and %q", a, b)
	}
	config := w.Watch(t, configmaps, w.ns, "config")
	url := func(want string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return text(o, "data", "url") == want }
	}
	w.await(config, url("postgres://canary-one@db"))

	// Drift of what was encrypted is corrected, and its values are shown nowhere.
	w.undone(config, func() { w.kubectl("patch", "configmap/config", "-p", `{"data":{"url":"canary-by-hand"}}`) }, url("canary-by-hand"), url("postgres://canary-one@db"))
	run := w.truce()
	var said strings.Builder
	look := func() {
		for _, args := range []string{"app diff web", "app get web -o yaml", "why configmap/config", "blame configmap/config", "history", "why secret/db -o json"} {
			_, text := run(strings.Fields(args)...)
			said.WriteString(text)
		}
	}
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	w.kubectl("patch", "configmap/config", "-p", `{"data":{"url":"canary-by-hand","open":"canary-free"}}`)
	w.saysOf(run, 1, "app diff web", "url", "***", "canary-free")
	look()
	w.kubectl("patch", "kustomization.kustomize.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"suspend":null}}`)
	w.await(config, url("postgres://canary-one@db"))

	// Files for another key: nothing of the revision is applied or pruned until the key is there, which asks for a run.
	rotated := sealed(w, second, "canary-two")
	rotated["app/kustomization.yaml"] = strings.Replace(rotated["app/kustomization.yaml"], ", open.yaml", "", 1)
	w.repo.Commit(rotated, "another key")
	w.fails("web", "app/secret.yaml: cannot get sops data key", second.Recipient(), w.ns+"/sops-keys")
	if reason := w.reason("web"); reason != "BuildFailed" {
		t.Errorf("the reason is %s", reason)
	}
	look()
	if !w.isThere(configmaps, "open") {
		t.Error("an object was pruned by a revision that cannot be decrypted")
	}
	w.decryptionSecret(second)
	w.await(config, url("postgres://canary-two@db"))
	w.ready("web")

	// A file that was changed by hand after it was encrypted is refused.
	w.edit("app/config.yaml", "to-all", "to-some")
	w.fails("web", "app/config.yaml: the file was changed after it was encrypted (MAC mismatch)")
	look()
	w.removeApps()
	stop()
	w.showsNoCanary(append(w.valuesOf(status, record), said.String(), log.String())...)
	if key := strings.TrimSpace(strings.SplitN(second.Secret(), "\n", 2)[1]); strings.Contains(said.String()+log.String(), key) {
		t.Error("a key is shown")
	}
}
