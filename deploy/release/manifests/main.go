// Manifests answers: which files of deploy/ follow from the others?
//
// In: deploy/base, the components and overlays, deploy/VERSION, and the permissions of internal/model/permissions.
// Out: deploy/rbac, deploy/install.yaml and the generated part of deploy/chart.
// Promise: the same input gives the same bytes; a line of the base that the chart replaces and that is gone is an error.
// Not here: the CustomResourceDefinitions (deploy/gen), the image.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	dir := flag.String("deploy", "..", "the directory deploy")
	flag.Parse()
	if err := writeAll(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

// writeAll writes what differs. The roles come first: the other files are built from them.
func writeAll(dir string) error {
	if err := writeFiles(dir, roleFiles()); err != nil {
		return err
	}
	built, err := manifests(dir)
	if err != nil {
		return err
	}
	return writeFiles(dir, built)
}

func writeFiles(dir string, files map[string][]byte) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manifests returns install.yaml and the chart's generated files, by their paths in deploy/.
func manifests(dir string) (map[string][]byte, error) {
	version, err := os.ReadFile(filepath.Join(dir, "VERSION"))
	if err != nil {
		return nil, err
	}
	v := strings.TrimSpace(string(version))
	enforce, err := kustomizeBuild(filepath.Join(dir, "overlays/enforce"))
	if err != nil {
		return nil, err
	}
	if want := "app.kubernetes.io/version: " + v + "\n"; !strings.Contains(enforce, want) {
		return nil, fmt.Errorf("deploy/VERSION is %s, and the label in deploy/base/kustomization.yaml is not", v)
	}
	install := strings.ReplaceAll(enforce, "image: truce\n", "image: truce:"+v+"\n")
	files := map[string][]byte{"install.yaml": []byte(fmt.Sprintf(installHead, v) + install)}
	return files, addChart(dir, v, files)
}

const installHead = `# truce %s: kubectl apply --server-side -f install.yaml. Generated from deploy/overlays/enforce; do not edit.
# The image is named truce: write where you keep it, as in docs/install.md.
`

// kustomizeBuild is `kubectl kustomize` of a directory.
func kustomizeBuild(dir string) (string, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", dir, err)
	}
	text, err := resources.AsYaml()
	return string(text), err
}
