package files_test

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// utf16Text is a file as some editors on Windows save it.
func utf16Text(text string) string {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return string(out)
}

// Outside of a git repository every directory that kubectl kustomize reads above the named one is read: bases, and the directories of
// transformers, generators and validators.
func TestOutsideOfARepositoryDirectoriesAboveAreReadAsKubectlDoes(t *testing.T) {
	kubectl := kubectlBinary(t)
	const labels = "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels: {team: shop}\nfieldSpecs: [{path: metadata/labels, create: true}]\n"
	const generator = "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: made}\nliterals: [a=b]\n"
	dir := files(t, map[string]string{
		"t/kustomization.yaml": "resources: [l.yaml]\n", "t/l.yaml": labels, "g/kustomization.yaml": "resources: [g.yaml]\n", "g/g.yaml": generator,
		"base/kustomization.yaml": "resources: [a.yaml]\ntransformers: [../t]\n", "base/a.yaml": configMap,
		"transformers/deep/kustomization.yaml": "resources: [a.yaml]\ntransformers: [../../t]\n", "transformers/deep/a.yaml": configMap,
		"generators/kustomization.yaml": "generators: [../g]\n", "bases/kustomization.yaml": "resources: [../base]\n",
	})
	for _, name := range []string{"transformers/deep", "generators", "bases", "base"} {
		cmd := exec.CommandContext(t.Context(), kubectl, "kustomize", filepath.Join(dir, name))
		cmd.Env = []string{"PATH=/nonexistent", "HOME=" + t.TempDir()}
		want, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := run(t, "", "render", filepath.Join(dir, name))
		if got.code != 0 {
			t.Errorf("%s: %s", name, got.err)
			continue
		}
		if diff := cmp.Diff(objects(t, string(want)), objects(t, got.out)); diff != "" {
			t.Errorf("%s (-kubectl +truce):\n%s", name, diff)
		}
	}
}

// TestEveryCommandReadsTheSameFiles asks all commands about the forms of files that kubectl reads.
func TestEveryCommandReadsTheSameFiles(t *testing.T) {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"shop"}}`
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: migrate-, namespace: shop}\n"
	list := "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a, namespace: shop}\n"
	for what, c := range map[string]struct {
		text, names string
		difference  int
	}{
		"values": {fmt.Sprintf(pod, "a") + fmt.Sprintf("\n"+pod, "b"), "pod/a\npod/b\n", 0},
		"yaml12": {"%YAML 1.2\n---\n" + configMap, "configmap/a\n", 0},
		"typed":  {list, "configmap/a\n", 0},
		"utf16":  {utf16Text(configMap), "configmap/a\n", 0},
		"job":    {configMap + "---\n" + job + "---\n" + job, "configmap/a\n" + strings.Repeat("job.batch/migrate-*\n", 2), 1},
	} {
		t.Run(what, func(t *testing.T) {
			dir := files(t, map[string]string{"plain/a.yaml": c.text, "built/a.yaml": c.text, "built/kustomization.yaml": "resources: [a.yaml]\n"})
			file := filepath.Join(dir, "plain/a.yaml")
			for _, args := range [][]string{{"-f", file}, {filepath.Join(dir, "plain")}, {filepath.Join(dir, "built")}} {
				got := run(t, "", append([]string{"render", "-o", "name"}, args...)...)
				if what == "job" && strings.HasSuffix(args[0], "built") {
					if got.code != 4 || !strings.Contains(got.err, "a.yaml:5: generateName without a name") {
						t.Errorf("%v: %+v", args, got)
					}
				} else if got.code != 0 || got.out != c.names {
					t.Errorf("%v: %+v", args, got)
				}
			}
			if got := run(t, "", "diff", "-f", file, "--live", file); got.code != c.difference || c.difference > 0 && !strings.Contains(got.out, "it has generateName and no name") {
				t.Errorf("diff: %+v", got)
			}
			if got := run(t, "", "health", "-f", file); got.code > 1 {
				t.Errorf("health: %+v", got)
			}
			if got := run(t, "", "audit", filepath.Join(dir, "plain")); slices.Contains([]int{2, 3, 4}, got.code) {
				t.Errorf("audit: %+v", got)
			}
		})
	}
}

func TestWhatIsNoTextOrNoIntegerIsSaidAlikeByAll(t *testing.T) {
	for what, c := range map[string]struct{ text, says string }{
		"binary": {"apiVersion: v1\x00", "a.yaml: not text: it has NUL bytes"},
		"number": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1e20\n", "a.yaml:5: Deployment.apps web: spec.replicas: the number does not fit an integer of 64 bits"},
	} {
		dir := files(t, map[string]string{"a.yaml": c.text})
		file := filepath.Join(dir, "a.yaml")
		for _, args := range [][]string{{"render", dir}, {"render", "-f", file}, {"diff", "-f", file, "--live", file}, {"health", "-f", file}} {
			if got := run(t, "", args...); got.code == 0 || !strings.Contains(got.err, c.says) {
				t.Errorf("%s: %v: %+v", what, args, got)
			}
		}
	}
}

// health takes a file of any length.
func TestHealthOfALongFile(t *testing.T) {
	item := "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, namespace: shop}\n  data:\n    text: |\n" + strings.Repeat("      "+strings.Repeat("x", 94)+"\n", 10_000)
	text := "apiVersion: v1\nitems:\n" + strings.Repeat(item, 40) + "kind: List\n"
	got := run(t, text, "health", "-f", "-", "-o", "jsonpath={range .items[*]}{.status} {end}")
	if got.code != 0 || strings.Count(got.out, "Healthy") != 40 {
		t.Errorf("exit %d: %.200s %.200s", got.code, got.out, got.err)
	}
}
