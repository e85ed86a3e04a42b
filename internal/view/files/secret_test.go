package files_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The values that must be masked: of Git's Secret and of the live one, and those of a copy in an annotation.
var hidden = []string{"hunter2-of-git", "hunter3-of-live", "hunter4-copied"}

// TestNoCommandShowsASecret runs every command in every form over Secrets that are right, wrong and broken. No output and no
// error has a value, plain or as base64.
func TestNoCommandShowsASecret(t *testing.T) {
	sources := secretSources()
	live := files(t, map[string]string{"live.yaml": fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: shop, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"password":"%s"}}'}}
data: {password: %s}
status: {message: "%s"}
`, hidden[2], encoded(hidden[1]), hidden[1]), "broken.yaml": "data: {password: *" + hidden[1] + "}\n"})
	dir := files(t, sources)
	for source := range sources {
		path := filepath.Join(dir, source)
		forms := []string{"", "json"}
		if source == "plain/db.yaml" || source == "generated/kustomization.yaml" {
			forms = append(forms, "yaml", "name", "wide")
		}
		for _, form := range forms {
			for _, args := range [][]string{
				{"render", filepath.Dir(path)}, {"render", "-f", path}, {"render", path},
				{"diff", filepath.Dir(path), "--live", filepath.Join(live, "live.yaml"), "-n", "shop"},
				{"diff", "-f", path, "--live", filepath.Join(live, "live.yaml"), "-n", "shop"},
				{"diff", "-f", path, "--live", filepath.Join(live, "broken.yaml")},
				{"diff", "-f", filepath.Join(live, "live.yaml"), "--live", path},
				{"diff", filepath.Dir(path), "--kubeconfig", path},
				{"health", "-f", path}, {"health", "-f", filepath.Join(live, "live.yaml")},
			} {
				if form != "" {
					args = append(args, "-o", form)
				}
				shows(t, run(t, "", args...), args)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"render", "-f", "-"}, {"health", "-f", "-"}, {"diff", "-f", "-", "--live", filepath.Join(live, "live.yaml")}} {
			shows(t, run(t, string(text), args...), args)
		}
	}
}

// secretSources are Secrets in every place where they may stand, and with every mistake of which a program may quote them.
func secretSources() map[string]string {
	const git = "hunter2-of-git"
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop, annotations: {copy: hunter4-copied}}\n"
	out := map[string]string{
		"plain/db.yaml": secret + "stringData: {password: " + git + "}\n",
		"data/db.yaml":  secret + "data: {password: " + encoded(git) + "}\n",
		"json/db.yaml":  `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"stringData":{"password":"` + git + `"}}`,
		"list/db.yaml":  "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {password: " + git + "}}\n",
		"twice/db.yaml": secret + "stringData: {password: " + git + "}\n---\n" + secret + "stringData: {password: " + git + "}\n",

		"alias/db.yaml":   secret + "stringData: {password: *" + git + "}\n",
		"tag/db.yaml":     secret + "stringData: {password: !!int " + git + "}\n",
		"cut/db.yaml":     secret + "stringData: {password: \"" + git + "\n",
		"noname/db.yaml":  "apiVersion: v1\nkind: Secret\nstringData: {password: " + git + "}\n",
		"text/db.yaml":    secret + "stringData: " + git + "\n",
		"nested/db.yaml":  secret + "stringData: {password: {a: [" + git + "]}}\n",
		"wrong64/db.yaml": secret + "data: {password: " + git + "}\n",
		"managed/db.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop, managedFields: [1]}\nstringData: {password: " + git + "}\n",
		"state/db.yaml":   secret + "stringData: {password: " + git + "}\nstatus: {conditions: [{type: Failed, status: 'True', message: " + git + "}]}\n",
	}
	for name, more := range map[string]string{
		"patch":        "patches:\n- patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: db}\n    stringData: {password: " + git + "\n",
		"op":           "patches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: add, path: /no/such/field, value: " + git + "}\n",
		"test":         "patches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: test, path: /stringData/password, value: other}\n",
		"badop":        "patches:\n- target: {kind: Secret}\n  patch: |-\n    - {op: nope, path: /stringData, value: " + git + "}\n",
		"type":         "patches:\n- patch: |-\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: db}\n    stringData: [" + git + "]\n",
		"literal":      "secretGenerator:\n- name: a\n  literals: [" + git + "]\n",
		"generated":    "secretGenerator:\n- name: a\n  literals: [password=" + git + "]\n",
		"twicelit":     "secretGenerator:\n- name: a\n  literals: [password=" + git + ", password=" + git + "]\n",
		"replacement":  "replacements:\n- source: {kind: Secret, fieldPath: stringData.password.nope}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.x]}]\n",
		"replaced":     "replacements:\n- source: {kind: Secret, fieldPath: stringData.password, options: {delimiter: '-', index: 9}}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.x.y]}]\n",
		"unknownfield": "secretGenerator:\n- name: a\n  literal: [" + git + "]\n",
		"envs":         "secretGenerator:\n- name: a\n  envs: [x.env]\n",
	} {
		out[name+"/kustomization.yaml"] = "resources: [db.yaml]\n" + more
		out[name+"/db.yaml"] = secret + "stringData: {password: " + git + "}\n"
	}
	out["envs/x.env"] = "=" + git + "\n"
	return out
}

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func shows(t *testing.T, r ran, args []string) {
	t.Helper()
	for _, value := range hidden {
		for _, form := range []string{value, encoded(value), encoded(value)[:12]} {
			if strings.Contains(r.out, form) || strings.Contains(r.err, form) {
				t.Errorf("truce %s shows %s:\n%s%s", strings.Join(args, " "), form, r.out, r.err)
			}
		}
	}
}

func TestSecretsAreShownToWhoAsksAndThatIsSaid(t *testing.T) {
	dir := files(t, map[string]string{"db.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: x}\n"})
	if got := run(t, "", "render", dir, "--show-secrets"); !strings.Contains(got.out, "password: x") || got.err != "the output has the values of 1 Secret\n" {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "render", dir); got.err != "1 Secret is masked: --show-secrets prints the values\n" || !strings.Contains(got.out, "password: '*** (") {
		t.Errorf("%+v", got)
	}
}
