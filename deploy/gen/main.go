// Gen writes deploy/crds from the Go types: Kustomization from internal/dialect/flux, which embeds Flux's, and the sources from
// Flux's own; the URL of a GitRepository may be a path here. It runs controller-gen; `go generate ./deploy` calls it in the directory deploy.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// controllerGen is the generator, at the version that the module of the tools pins.
var controllerGen = []string{"tool", "-modfile=../tools/go.mod", "controller-gen"}

// Flux's CRD takes http, https and ssh URLs only. Truce also reads the scp form, file:// and paths, and says itself what is wrong with a URL.
const (
	fluxURL = "                pattern: ^(http|https|ssh)://.*$\n"
	ourURL  = "                minLength: 1\n"
	fluxDoc = "description: URL specifies the Git repository URL, it can be an HTTP/S\n                  or SSH address.\n"
	ourDoc  = "description: |-\n                  URL specifies the Git repository: an HTTP/S or SSH address, the form\n" +
		"                  user@host:path, a file:// URL or an absolute path.\n"
)

func main() {
	if err := writeCRDs(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func writeCRDs() error {
	kustomization, err := generate("../internal/dialect/flux", "kustomizations")
	if err != nil {
		return err
	}
	repository, err := generate("github.com/fluxcd/source-controller/api/v1", "gitrepositories")
	if err != nil {
		return err
	}
	if repository, err = editText(repository, []string{fluxURL, ourURL, fluxDoc, ourDoc}); err != nil {
		return fmt.Errorf("gitrepositories: %w", err)
	}
	for plural, module := range map[string]string{
		"ocirepositories": "github.com/fluxcd/source-controller/api/v1", "buckets": "github.com/fluxcd/source-controller/api/v1",
		"helmcharts": "github.com/fluxcd/source-controller/api/v1", "helmrepositories": "github.com/fluxcd/source-controller/api/v1", "externalartifacts": "github.com/fluxcd/source-controller/api/v1",
		"helmreleases": "github.com/fluxcd/helm-controller/api/v2", "artifactgenerators": "github.com/fluxcd/source-watcher/api/v2/v1beta1",
	} {
		text, err := generate(module, plural)
		if err != nil {
			return err
		}
		if text, err = editText(text, newer[plural]); err != nil {
			return fmt.Errorf("%s: %w", plural, err)
		}
		if err := os.WriteFile(filepath.Join("crds", plural+".yaml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := writeNotifications(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join("crds", "kustomizations.yaml"), []byte(kustomization), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("crds", "gitrepositories.yaml"), []byte(repository), 0o644)
}

// generate returns the CRD of that plural name among those that a package describes.
func generate(pkg, plural string) (string, error) {
	cmd := exec.Command("go", append(slices.Clone(controllerGen), "crd", "paths="+pkg, "output:crd:stdout")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("controller-gen %s: %w\n%s", pkg, err, stderr.String())
	}
	for doc := range strings.SplitSeq(stdout.String(), "---\n") {
		if strings.Contains(doc, "\n  name: "+plural+".") {
			return doc, nil
		}
	}
	return "", fmt.Errorf("controller-gen %s: no CRD %s", pkg, plural)
}
