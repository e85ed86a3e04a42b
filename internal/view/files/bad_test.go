package files_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n"

// TestBadInputHasItsCodeAndSaysWhereItIs: 2 for the command line and the live file, 4 for what Git describes.
func TestBadInputHasItsCodeAndSaysWhereItIs(t *testing.T) {
	bomb := "a0: &a0 x\n"
	for i := range 9 {
		item := fmt.Sprintf("*a%d,", i)
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(item, 10))
	}
	dir := files(t, map[string]string{
		"ok/a.yaml": configMap, "empty/readme": "x", "binary/a.yaml": "\x00\x01\xff\xfe", "bomb/a.yaml": configMap + bomb,
		"nothing.yaml": "\n", "comment.yaml": "# nothing\n", "twice.yaml": configMap + "---\n" + configMap, "twice/a.yaml": configMap, "twice/b.yaml": configMap,
		"noname.yaml": "kind: ConfigMap\n", "scalar.yaml": "hello\n", "html.yaml": "<html><body>login</body></html>",
		"missing/kustomization.yaml": "namespace: x\nresources:\n- a.yaml\n- nope.yaml\n", "missing/a.yaml": configMap,
		"typo/kustomization.yaml": "resurces: [a.yaml]\n", "remote/kustomization.yaml": "resources: [https://example.com/a.yaml]\n",
		"values.yaml": configMap + "data: {a: b}\n", "badmanaged.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop, managedFields: [{fieldsV1: {f:a: 1}}]}\n",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	big, err := os.Create(at("big.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(at("bigdir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at("big.yaml"), at("bigdir/big.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("empty/pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := at("ok/a.yaml")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{4, "render nope: no such file or directory", []string{"render", "nope"}},
		{4, "neither a file nor a directory", []string{"render", at("empty")}},
		{4, "bigdir: big.yaml: 104857600 bytes, more than 16777216: limit exceeded", []string{"render", at("bigdir")}},
		{4, "more than 32 MiB: limit exceeded", []string{"render", "-f", at("bigdir/big.yaml")}},
		{4, "a.yaml: not text: it has NUL bytes", []string{"render", at("binary")}},
		{4, "limit exceeded", []string{"render", at("bomb")}},
		{4, "limit exceeded", []string{"render", "-f", at("bomb/a.yaml")}},
		{4, "nothing.yaml: it is empty", []string{"render", "-f", at("nothing.yaml")}},
		{4, "comment.yaml: no objects", []string{"render", "-f", at("comment.yaml")}},
		{4, "twice.yaml:5: ConfigMap shop/a is already at " + at("twice.yaml") + ":1", []string{"render", "-f", at("twice.yaml")}},
		{4, "b.yaml:1: ConfigMap shop/a is already at a.yaml:1", []string{"diff", at("twice"), "--live", ok}},
		{4, "noname.yaml:1: not a Kubernetes object: no apiVersion, no metadata.name", []string{"diff", "-f", at("noname.yaml"), "--live", ok}},
		{4, "scalar.yaml:1: not a Kubernetes object: no map", []string{"render", "-f", at("scalar.yaml")}},
		{4, "html.yaml:1", []string{"render", "-f", at("html.yaml")}},
		{4, "kustomization.yaml:4: nope.yaml: no such file", []string{"render", at("missing")}},
		{4, "resurces", []string{"render", at("typo")}},
		{4, "kustomization.yaml:1: https://example.com/a.yaml: remote bases and charts are not fetched unless", []string{"render", at("remote")}},
		{2, "name a directory, or a file with -f", []string{"render"}},
		{2, "2 paths: name one", []string{"diff", "a", "b"}},
		{2, "it is no Helm chart, and values are for one", []string{"render", dir, "-f", ok}},
		{2, "PATH is empty", []string{"render", ""}},
		{2, "unknown flag: --nope", []string{"render", "--nope", dir}},
		{2, `"tree"`, []string{"render", dir, "-o", "tree"}},
		{2, `--claims "maybe": want cede, report, off`, []string{"diff", dir, "--claims", "maybe"}},
		{2, "--live asks no cluster: leave out --kubeconfig and --context", []string{"diff", dir, "--live", ok, "--context", "x"}},
		{2, "the standard input cannot be both -f and --live", []string{"diff", "-f", "-", "--live", "-"}},
		{2, "read nope: no such file or directory", []string{"diff", "-f", ok, "--live", "nope"}},
		{2, "nothing.yaml: it is empty", []string{"diff", "-f", ok, "--live", at("nothing.yaml")}},
		{2, "twice.yaml:5: ConfigMap shop/a is already at", []string{"diff", "-f", ok, "--live", at("twice.yaml")}},
		{2, "limit exceeded", []string{"diff", "-f", ok, "--live", at("bomb/a.yaml")}},
		{1, "", []string{"diff", "-f", ok, "--live", at("badmanaged.yaml")}},
		{3, "the kubeconfig has no context", []string{"diff", at("ok"), "--context", "nowhere"}},
		{3, "nope", []string{"diff", at("ok"), "--kubeconfig", "nope"}},
		{2, "name a file with -f", []string{"health"}},
		{2, "read nope: no such file or directory", []string{"health", "-f", "nope"}},
		{2, "comment.yaml: no objects", []string{"health", "-f", at("comment.yaml")}},
		{2, "is a directory", []string{"health", "-f", dir}},
		{0, "", []string{"diff", "-f", ok, "--live", ok}},
		{0, "it is unknown who wrote the fields of 1 of the live objects", []string{"diff", "-f", ok, "--live", ok}},
		{1, "1 difference", []string{"diff", "-f", at("values.yaml"), "--live", ok}},
	} {
		if got := run(t, "", c.args...); got.code != c.code || !strings.Contains(got.err, c.says) {
			t.Errorf("truce %s: exit %d, want %d; wanted in it: %s\n%s", strings.Join(c.args, " "), got.code, c.code, c.says, got.err)
		}
	}
}

func TestTheStandardInputIsAFileToo(t *testing.T) {
	dir := files(t, map[string]string{"a.yaml": configMap})
	file := filepath.Join(dir, "a.yaml")
	for _, args := range [][]string{{"render", "-f", "-"}, {"diff", "-f", "-", "--live", file}, {"diff", "-f", file, "--live", "-"}, {"health", "-f", "-"}} {
		if got := run(t, configMap, args...); got.code != 0 {
			t.Errorf("%v: %+v", args, got)
		}
		if got := run(t, "", args...); got.code == 0 || !strings.Contains(got.err, "standard input: it is empty") {
			t.Errorf("%v with nothing: %+v", args, got)
		}
	}
	bom := append([]byte{0xef, 0xbb, 0xbf}, configMap...)
	if got := run(t, string(bytes.Clone(bom)), "render", "-f", "-", "-o", "name"); got.out != "configmap/a\n" {
		t.Errorf("with a byte order mark: %+v", got)
	}
}
