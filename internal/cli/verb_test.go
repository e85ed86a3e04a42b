package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKubectlsWordsMayStandBehindFlags: a kind, and an object of it, are found wherever flags stand, before the verb too.
func TestKubectlsWordsMayStandBehindFlags(t *testing.T) {
	const already = "kustomization/web is suspended already, by kubectl-edit, at the latest 10m ago\n"
	for line, want := range map[string]string{
		"get gitrepositories -A -o name":                             "gitrepository/repo\n",
		"get -A gitrepositories -o name":                             "gitrepository/repo\n",
		"get -A GitRepository -o name":                               "gitrepository/repo\n",
		"get -o name -n flux-system gitrepo repo":                    "gitrepository/repo\n",
		"get gitrepositories.source.toolkit.fluxcd.io -A -o name":    "gitrepository/repo\n",
		"get -n flux-system gitrepository/repo -o name":              "gitrepository/repo\n",
		"get -n flux-system ks/web -o name":                          "kustomization/web\n",
		"get -o name -n flux-system Kustomization/web":               "kustomization/web\n",
		"-n flux-system get ks/web -o name":                          "kustomization/web\n",
		"-n flux-system get ks web -o name":                          "kustomization/web\n",
		"get -n flux-system ks/web kustomization/web web -o name":    "kustomization/web\n",
		"get -n flux-system -l team=shop ks/web -o jsonpath={.kind}": "Kustomization",
		"export -n flux-system ks/web -o jsonpath={.kind}":           "Kustomization",
		"tree -n flux-system ks/web -o jsonpath={.type}":             "Tree",
		"suspend -n flux-system ks/web":                              already,
		"-n flux-system suspend kustomization/web":                   already,
		"get --no-headers -n flux-system ks/web -o name":             "kustomization/web\n",
		"get --no-headers sources git -A -o name":                    "gitrepository/repo\n",
		"get sources --no-headers git -A -o name":                    "gitrepository/repo\n",
		"tree --compact -n flux-system ks/web -o jsonpath={.type}":   "Tree",
		"suspend -n flux-system ks web":                              already,
	} {
		if stdout, stderr := printed(t, line); stdout != want {
			t.Errorf("%s (-want +got):\n%s%s", line, cmp.Diff(want, stdout), stderr)
		}
	}
}

// TestKubectlsWordsAreNotListed: they are completed, and no second way to say what --help lists.
func TestKubectlsWordsAreNotListed(t *testing.T) {
	b := Backend{Clusters: answers{Cluster{Resources: someResources{all: printedResources()}, ObjectReader: someNames{names: []string{"repo"}}}}}
	for line, want := range map[string]string{
		"__complete get gitrepositories -n flux-system ,": "repo\n",
		"__complete get -n flux-system gitrepositories ,": "repo\n",
		"__complete get gitre":                            "",
		"__complete get kust":                             "kustomizations\tShow kustomizations\n",
	} {
		var out, errs bytes.Buffer
		args := strings.Fields(line)
		if last := len(args) - 1; args[last] == "," {
			args[last] = ""
		}
		if code := Execute(t.Context(), Environment{Out: &out, Err: &errs, Program: "truce", Args: args, Getenv: func(string) string { return "" }}, b); code != 0 {
			t.Errorf("%s: exit code %d: %s", line, code, &errs)
		}
		if got, _, _ := strings.Cut(out.String(), ":"); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
