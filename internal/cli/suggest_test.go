package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/exit"
)

// TestATypingErrorIsAnsweredWithWhatWasMeant goes through commands, below groups too, and flags.
func TestATypingErrorIsAnsweredWithWhatWasMeant(t *testing.T) {
	for line, want := range map[string]string{
		"truce app lst":                                     `truce app has no command "lst": did you mean truce app list?`,
		"truce app lst -o json -n x":                        `truce app has no command "lst": did you mean truce app list?`,
		"truce app snyc web":                                `truce app has no command "snyc": did you mean truce app sync?`,
		"truce apps hist":                                   `truce app has no command "hist": did you mean truce app history?`,
		"truce gte all -A":                                  `truce has no command "gte": did you mean truce get?`,
		"truce get kustomisations":                          `truce get has no command "kustomisations": did you mean truce get kustomizations?`,
		"truce get sources gti":                             `truce get sources has no command "gti": did you mean truce get sources git?`,
		"truce get images all -A":                           `truce get images: ` + imageAutomation,
		"truce install":                                     `truce install: ` + installation,
		"truce bootstrap github":                            `truce bootstrap: ` + installation,
		"truce suspend image policy web":                    `truce suspend image: ` + imageAutomation,
		"truce reconcile web":                               `truce reconcile has no command "web": see truce reconcile --help`,
		"truce tree gitrepository/repo":                     `truce tree has no command "gitrepository/repo": see truce tree --help`,
		"truce reconcile -n x kustomization/web -o json":    `unknown shorthand flag: 'o' in -o`,
		"truce reconcile kustomization/web --with-sorce":    `unknown flag: --with-sorce: did you mean --with-source?`,
		"truce suspend ks":                                  `name one or more kustomizations, or all of the namespace with --all`,
		"truce app why":                                     `truce app has no command "why": did you mean truce why?`,
		"truce verzion":                                     `truce has no command "verzion": did you mean truce version?`,
		"truce app frobnicate":                              `truce app has no command "frobnicate": see truce app --help`,
		"truce app list --al-namespaces":                    `unknown flag: --al-namespaces: did you mean --all-namespaces?`,
		"truce controller --lisen :80":                      `unknown flag: --lisen: did you mean --listen?`,
		"truce app list --frobnicate":                       `unknown flag: --frobnicate`,
		"argocd app lst":                                    `argocd app has no command "lst": did you mean argocd app list?`,
		"argocd proj list":                                  `argocd proj: AppProjects are custom resources`,
		"argocd app resources web":                          `argocd app resources: truce tree application NAME`,
		"argocd app confirm-deletion web":                   `argocd app confirm-deletion: truce app approve-prune NAME shows the objects`,
		"truce app logs web":                                `truce app logs: use kubectl`,
		"truce cluster add prod":                            `truce cluster: repositories and clusters are Secrets`,
		"kubectl-truce app lst":                             `kubectl truce app has no command "lst": did you mean kubectl truce app list?`,
		"truce app sync web --force":                        `--force is not supported: only Git can ask to delete and create an object`,
		"argocd app sync web --force":                       `--force is not supported: only Git can ask to delete and create an object`,
		"truce app sync web --dry-run --revision v1":        `--dry-run compares the whole app at the revision that it follows: leave out --revision`,
		"truce app sync web --dry-run --resource :Pod:a":    `--dry-run compares the whole app at the revision that it follows: leave out --resource`,
		"truce app sync web --dry-run --sync-option Prune=": `--dry-run compares the whole app at the revision that it follows: leave out --sync-option`,
	} {
		words := strings.Fields(line)
		var out, errs bytes.Buffer
		code := Execute(t.Context(), Environment{Out: &out, Err: &errs, Program: words[0], Args: words[1:], Getenv: func(string) string { return "" }}, Backend{})
		usage := int(exit.Usage)
		if words[0] == "argocd" {
			usage = argocdGenericError
		}
		if code != usage || !strings.HasPrefix(errs.String(), "truce: "+want) || out.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d: %s%s\nwant %s", line, code, usage, &out, &errs, want)
		}
	}
}

// TestANameThatIsNotThereIsAnsweredWithTheNearest where there are too many to list.
func TestANameThatIsNotThereIsAnsweredWithTheNearest(t *testing.T) {
	many := []string{"web", "bad", "cart", "crd", "depb", "drift", "tns2", "tns"}
	for name, want := range map[string]string{
		"wbe": "did you mean web?", "tsn": "did you mean tns?", "frobnicate": "there are bad, cart, crd, depb, drift, …",
	} {
		if got := meantOrThere(name, many); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := meantOrThere("wbe", []string{"web", "api"}); got != "there are api, web" {
		t.Error(got)
	}
}
