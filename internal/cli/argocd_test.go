package cli

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
)

// mixedApps are an Application, and apps of Flux; someApps gives all of them the same label.
var mixedApps = []app.Key{
	grokdevops, {Kind: "Kustomization", Namespace: "flux-system", Name: "web"}, {Kind: "HelmRelease", Namespace: "argocd", Name: "tools"},
	{Kind: "Kustomization", Namespace: "argocd", Name: "grokdevops"},
}

// TestArgocdSelectsApplicationsAlone: what was written for Argo CD, in a pipeline where no question is asked, must not delete apps of Flux.
func TestArgocdSelectsApplicationsAlone(t *testing.T) {
	for _, args := range []string{
		"app delete -l env=pr-42", "app delete --all", "app delete -A", "app delete -n argocd -l env=pr-42", "app delete --field-selector metadata.namespace!=shop",
		"app set -l env=pr-42 --path x", "app unset -l env=pr-42 --nameprefix", "app suspend --all", "app terminate-op -l env=pr-42",
	} {
		asked, out, code := typed(t, "argocd", mixedApps, strings.Fields(args)...)
		if code != 0 || len(asked) != 1 || asked[0].App != grokdevops {
			t.Errorf("%s: code %d, asked for %d changes\n%s", args, code, len(asked), out)
		}
	}
	if asked, out, code := typed(t, "truce", mixedApps, "app", "suspend", "-A", "-l", "env=pr-42"); code != 0 || len(asked) != len(mixedApps) {
		t.Errorf("truce selects %d of %d apps: code %d\n%s", len(asked), len(mixedApps), code, out)
	}
	if asked, out, code := typed(t, "argocd", mixedApps[1:], "app", "delete", "-l", "env=pr-42"); code != argocdGenericError || len(asked) > 0 || out != "truce: no Applications in the cluster\n" {
		t.Errorf("without an Application: code %d, asked for %d changes\n%s", code, len(asked), out)
	}
	for args, want := range map[string]string{"app list -o name": "argocd/grokdevops\n", "app list -w -o name": "argocd/grokdevops\n"} {
		if _, out, code := typed(t, "argocd", mixedApps, strings.Fields(args)...); code != 0 || out != want {
			t.Errorf("%s: code %d\n%s", args, code, out)
		}
	}
}

// TestANameWithoutAKindIsAnApplicationsForArgocd: an app of Flux is not what `argocd app delete web` means, and can be named with its kind.
func TestANameWithoutAKindIsAnApplicationsForArgocd(t *testing.T) {
	for args, want := range map[string]string{
		"web":                  "truce: web: no Application has that name in the cluster; an app of Flux is named with its kind: kustomization/web\n",
		"web -n flux-system":   "truce: web: no Application has that name in namespace flux-system; an app of Flux is named with its kind: kustomization/web\n",
		"nowhere":              "truce: nowhere: no such app in the cluster; there are grokdevops\n",
		"nowhere -n shop":      "truce: nowhere: no Applications in namespace shop (-A for all namespaces)\n",
		"grokdevops -n shop":   "truce: grokdevops: not in namespace shop; application/grokdevops is in argocd: -n argocd\n",
		"grokdevops -n argocd": "",
		"argocd/grokdevops":    "",
		"ks/web":               "",
		"helmrelease/tools":    "",
	} {
		asked, out, code := typed(t, "argocd", mixedApps, append([]string{"app", "delete"}, strings.Fields(args)...)...)
		if want != "" && (code != argocdGenericError || len(asked) > 0 || out != want) || want == "" && (code != 0 || len(asked) != 1) {
			t.Errorf("%s: code %d, asked for %d changes, want %q\n%s", args, code, len(asked), want, out)
		}
		if want == "" && len(asked) == 1 && strings.Contains(args, "grokdevops") && asked[0].App != grokdevops {
			t.Errorf("%s means %s", args, asked[0].App)
		}
	}
}

// TestCalledAsArgocdACommandWaitsAsLongAsArgocd: a rollout that takes longer than five minutes is no failure of a pipeline there.
func TestCalledAsArgocdACommandWaitsAsLongAsArgocd(t *testing.T) {
	for name, want := range map[string]string{"argocd": "0s", "truce": "5m0s"} {
		root := (&program{env: Environment{Program: name, Getenv: func(string) string { return "" }}}).root()
		for _, command := range []string{"sync", "wait", "rollback", "delete"} {
			cmd, _, err := root.Find([]string{"app", command})
			if err != nil {
				t.Fatal(err)
			}
			if got := cmd.Flags().Lookup("timeout").DefValue; got != want {
				t.Errorf("%s app %s waits %s, want %s", name, command, got, want)
			}
		}
	}
}
