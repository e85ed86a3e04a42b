package decrypt_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/decrypt"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/sopstest"
)

func renderWith(t *testing.T, texts map[string]string, set *keys.Set) (render.Result, error) {
	t.Helper()
	return decrypt.Renderer{Builder: &kustomize.Renderer{Plain: plain.Renderer{}}}.Render(t.Context(), render.Request{Files: given.FilesOf(texts), Path: "app", Decryption: set})
}

func setOf(k sopstest.Key) *keys.Set {
	return &keys.Set{App: "Kustomization apps/web", Secret: "apps/sops-keys", Keys: map[string]string{"age.agekey": k.Secret()}}
}

// object returns a rendered object of a kind, and what of it is masked.
func object(t *testing.T, res render.Result, kind, name string) (render.Object, string) {
	t.Helper()
	for _, o := range res.Objects {
		if o.Data.GVK().Kind == kind && strings.HasPrefix(o.Data.Name(), name) {
			fields, _ := json.Marshal(o.Sensitive)
			return o, string(fields)
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return render.Object{}, ""
}

const (
	secretText = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: plain\nstringData:\n  password: c4n4ry-secret\n"
	configText = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  open: to all\n  url: postgres://c4n4ry-config@db\n"
	deployText = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: web\n" +
		"        envFrom:\n        - secretRef: {name: generated}\n"
	patchText = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        env:\n" +
		"        - name: TOKEN\n          value: c4n4ry-patch\n"
	kustomization = `resources: [secret.yaml, config.yaml, deploy.yaml, ../base]
patches: [{path: patch.yaml}]
secretGenerator:
- name: generated
  envs: [values.env]
  files: [blob.yaml]
configMapGenerator:
- name: sealed
  files: [sealed.yaml]
`
)

func repository(t *testing.T, k sopstest.Key) map[string]string {
	t.Helper()
	return map[string]string{
		"app/kustomization.yaml":  kustomization,
		"app/secret.yaml":         k.YAML(t, "^(data|stringData)$", secretText),
		"app/config.yaml":         k.YAML(t, "^url$", configText),
		"app/deploy.yaml":         deployText,
		"app/patch.yaml":          k.YAML(t, "^value$", patchText),
		"app/values.env":          k.Dotenv(t, "USER=c4n4ry-env\nMODE=x\n"),
		"app/blob.yaml":           k.YAML(t, "", "token: c4n4ry-file\n"),
		"app/sealed.yaml":         k.YAML(t, "", "a: c4n4ry-sealed\n"),
		"base/kustomization.yaml": "resources: [more.yaml]\n",
		"base/more.yaml":          k.YAML(t, "^stringData$", strings.ReplaceAll(secretText, "plain", "based")),
	}
}

func decoded(t *testing.T, o render.Object, key string) string {
	t.Helper()
	text, _ := o.Data.At("data", key).(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// textOf is all of an object: it is printed as its name.
func textOf(t *testing.T, data any) string {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEachFileOfABuildIsDecrypted, and what came of it is marked.
func TestEachFileOfABuildIsDecrypted(t *testing.T) {
	k := sopstest.NewKey(t)
	res, err := renderWith(t, repository(t, k), setOf(k))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "based"} {
		if o, _ := object(t, res, "Secret", name); o.Data.At("stringData", "password") != "c4n4ry-secret" || o.Data["sops"] != nil || o.Line != 1 {
			t.Errorf("%s: %v, line %d", name, o.Data, o.Line)
		}
	}
	generated, _ := object(t, res, "Secret", "generated-")
	if decoded(t, generated, "USER") != "c4n4ry-env" || decoded(t, generated, "blob.yaml") != "token: c4n4ry-file\n" {
		t.Error(generated.Data)
	}
	config, masked := object(t, res, "ConfigMap", "config")
	if config.Data.At("data", "url") != "postgres://c4n4ry-config@db" || masked != `[["data","url"]]` {
		t.Errorf("%v is masked of %v", masked, config.Data)
	}
	deployment, masked := object(t, res, "Deployment", "web")
	text, _ := json.Marshal(deployment.Data)
	if masked != `[["spec","template","spec","containers","[name=web]","env","[name=TOKEN]","value"]]` || !strings.Contains(string(text), "c4n4ry-patch") || !strings.Contains(string(text), generated.Data.Name()) {
		t.Errorf("%v is masked of %s", masked, text)
	}
	sealed, masked := object(t, res, "ConfigMap", "sealed")
	if text := textOf(t, sealed.Data); strings.Contains(text, "c4n4ry") || !strings.Contains(text, "ENC[") || masked != "null" {
		t.Errorf("a ConfigMap's file is decrypted: %s", text)
	}
	for _, want := range []string{"c4n4ry-secret", "c4n4ry-env", "c4n4ry-file", "c4n4ry-patch", "postgres://c4n4ry-config@db"} {
		if !strings.Contains(strings.Join(res.Secrets, " "), want) {
			t.Errorf("%s is not known", want)
		}
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", res.Secrets, setOf(k), setOf(k)), "4n4ry") || strings.Contains(fmt.Sprintf("%v %s", *setOf(k), setOf(k)), "AGE-SECRET") {
		t.Error("a value or key prints")
	}
}

// TestFilesOfComponentsThatTheAppAddsAreDecrypted as those that its kustomization names, and those of a configMapGenerator stay as they are.
func TestFilesOfComponentsThatTheAppAddsAreDecrypted(t *testing.T) {
	k := sopstest.NewKey(t)
	component := "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nsecretGenerator:\n- name: generated\n  envs: [values.env]\n  files: [blob.yaml]\n" +
		"configMapGenerator:\n- name: sealed\n  files: [sealed.yaml]\n"
	texts := map[string]string{
		"app/config.yaml": configText, "component/kustomization.yaml": component,
		"component/values.env": k.Dotenv(t, "USER=c4n4ry-env\n"), "component/blob.yaml": k.YAML(t, "", "token: c4n4ry-file\n"),
		"component/sealed.yaml": k.YAML(t, "", "a: c4n4ry-sealed\n"),
	}
	for _, top := range []string{"", "resources: [config.yaml]\n"} {
		if top != "" {
			texts["app/kustomization.yaml"] = top
		}
		request := render.Request{Files: given.FilesOf(texts), Path: "app", Decryption: setOf(k), Overlay: overlay.Overlay{Components: []string{"../component"}}}
		res, err := decrypt.Renderer{Builder: &kustomize.Renderer{Plain: plain.Renderer{}}}.Render(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		generated, _ := object(t, res, "Secret", "generated-")
		for key, want := range map[string]string{"USER": "c4n4ry-env", "blob.yaml": "token: c4n4ry-file\n"} {
			if got := decoded(t, generated, key); got != want {
				t.Errorf("%s is %.40s", key, got)
			}
		}
		if sealed, masked := object(t, res, "ConfigMap", "sealed"); strings.Contains(textOf(t, sealed.Data), "c4n4ry") || masked != "null" {
			t.Errorf("a ConfigMap's file is decrypted: %s", textOf(t, sealed.Data))
		}
	}
}

// TestWhatCannotBeDecryptedIsAnErrorOfTheBuild with its file, and without a value.
func TestWhatCannotBeDecryptedIsAnErrorOfTheBuild(t *testing.T) {
	k := sopstest.NewKey(t)
	with := func(file, text string) map[string]string {
		out := repository(t, k)
		out["app/"+file] = text
		return out
	}
	moved := strings.Replace(k.YAML(t, "^url$", configText), "open: to all", "open: to some", 1)
	inside := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: inside\ndata:\n  a.yaml: " + base64.StdEncoding.EncodeToString([]byte(strings.Replace(k.YAML(t, "^a$", "a: c4n4ry\nb: 1\n"), "b: 1", "b: 2", 1))) + "\n"
	for name, c := range map[string]struct {
		texts map[string]string
		set   *keys.Set
		want  []string
	}{
		"another key":      {repository(t, k), setOf(sopstest.NewKey(t)), []string{"app/secret.yaml: cannot get sops data key", k.Recipient(), "apps/sops-keys"}},
		"no Secret":        {repository(t, k), &keys.Set{}, []string{"cannot get sops data key", "spec.decryption has no secretRef"}},
		"a resource":       {with("config.yaml", moved), setOf(k), []string{"app/config.yaml: the file was changed after it was encrypted (MAC mismatch)"}},
		"a file of values": {with("values.env", strings.Replace(k.Dotenv(t, "USER=c4n4ry\nMODE=x\n"), "sops_version", "OTHER=y\nsops_version", 1)), setOf(k), []string{"app/values.env: "}},
		"a Secret's value": {with("deploy.yaml", deployText+"---\n"+inside), setOf(k), []string{`inside: data "a.yaml"`, "MAC mismatch"}},
		"values of a file": {with("deploy.yaml", deployText+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: parts}\ndata: {USER: "+base64Of("ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]")+", sops_mac: "+base64Of("ENC[AES256_GCM,x]")+"}\n"), setOf(k), []string{"app/deploy.yaml:14: ", "Secret parts is still encrypted after the build"}},
		"an inline patch":  {with("kustomization.yaml", "resources: [deploy.yaml]\npatches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, sops: {mac: \"ENC[x]\"}}'}]\n"), setOf(k), []string{"still encrypted after the build"}},
		"broken YAML":      {with("deploy.yaml", k.YAML(t, "^a$", "a: c4n4ry-x\nkind: ConfigMap\n")), setOf(k), []string{"app/deploy.yaml"}},
	} {
		_, err := renderWith(t, c.texts, c.set)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c4n4ry") {
				t.Errorf("%s: %v: no %q", name, err, want)
			}
		}
	}
}

// TestAnObjectMayStayEncrypted for another controller, where its file says so.
func TestAnObjectMayStayEncrypted(t *testing.T) {
	k := sopstest.NewKey(t)
	kept := "apiVersion: isindir.github.com/v1alpha3\nkind: SopsSecret\nmetadata:\n  name: kept\n  annotations:\n    kustomize.toolkit.fluxcd.io/decrypt: disabled\nspec:\n  text: c4n4ry\n"
	texts := map[string]string{"app/kept.yaml": k.YAML(t, "^text$", kept)}
	res, err := renderWith(t, texts, setOf(k))
	if err != nil {
		t.Fatal(err)
	}
	if o, masked := object(t, res, "SopsSecret", "kept"); o.Data["sops"] == nil || strings.Contains(textOf(t, o.Data), "c4n4ry") || masked != "null" {
		t.Error(o.Data)
	}
	texts["app/kustomization.yaml"] = "resources: [kept.yaml]\ncommonAnnotations: {kustomize.toolkit.fluxcd.io/decrypt: disabled}\n"
	texts["app/kept.yaml"] = k.YAML(t, "^text$", strings.Replace(kept, "disabled", "enabled", 1))
	if _, err := renderWith(t, texts, setOf(k)); err == nil || !strings.Contains(err.Error(), "put the annotation into the file") {
		t.Error(err)
	}
}

// TestNamesThatAreEncrypted are names: the objects are found, and what is else encrypted is marked.
func TestNamesThatAreEncrypted(t *testing.T) {
	k := sopstest.NewKey(t)
	res, err := renderWith(t, map[string]string{"app/all.yaml": k.YAML(t, "", configText)}, setOf(k))
	if err != nil {
		t.Fatal(err)
	}
	if _, masked := object(t, res, "ConfigMap", "config"); masked != `[["data","open"],["data","url"]]` {
		t.Error(masked)
	}
}

// TestEncryptedFilesOfGeneratorsAreFoundWithoutKeys leaves out what is no Secret's, and what is not encrypted.
func TestEncryptedFilesOfGeneratorsAreFoundWithoutKeys(t *testing.T) {
	all := repository(t, sopstest.NewKey(t))
	all["app/kustomization.yaml"] += "- name: open\n  files: [deploy.yaml]\n"
	all["base/kustomization.yaml"] += "secretGenerator:\n- name: more\n  files: [../app/open.txt, gone.yaml]\n"
	all["app/open.txt"] = "sops writes ENC[AES256_GCM,...]\n"
	if d := cmp.Diff([]string{"app/blob.yaml", "app/values.env"}, decrypt.EncryptedSources(t.Context(), given.FilesOf(all), "app")); d != "" {
		t.Error(d)
	}
}

// TestAnAppWithoutDecryptionRefusesEncryptedSecrets, those too whose keys are the lines of an encrypted dotenv file.
func TestAnAppWithoutDecryptionRefusesEncryptedSecrets(t *testing.T) {
	k := sopstest.NewKey(t)
	for want, texts := range map[string]map[string]string{
		"app/secret.yaml:1: Secret plain": {"app/secret.yaml": k.YAML(t, "^stringData$", secretText)},
		"Secret generated-": {
			"app/kustomization.yaml": "secretGenerator:\n- name: generated\n  envs: [values.env]\n", "app/values.env": k.Dotenv(t, "USER=c4n4ry\n"),
		},
	} {
		res, err := renderWith(t, texts, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = decrypt.CheckPlain(res.Objects)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), " is SOPS encrypted, configuring decryption is required for this secret to be reconciled") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestTextAboutEncryptedValuesIsNoneOfThem in a Secret: another program may have put it there.
func TestTextAboutEncryptedValuesIsNoneOfThem(t *testing.T) {
	k := sopstest.NewKey(t)
	texts := map[string]string{"app/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: parts}\ndata: {USER: " + base64Of("ENC[AES256_GCM,x]") + ", sops_mac: " + base64Of("none") + "}\n"}
	res, err := renderWith(t, texts, setOf(k))
	if err == nil {
		err = decrypt.CheckPlain(res.Objects)
	}
	if err != nil {
		t.Error(err)
	}
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
