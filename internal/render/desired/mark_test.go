package desired_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func TestNoTwoAppsHaveOneMark(t *testing.T) {
	label := regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	seen := map[string]app.Key{}
	for _, kind := range []string{"Kustomization", "Application", "HelmRelease"} {
		for _, name := range []string{"web", "web.application", strings.Repeat("a", 42), strings.Repeat("a", 43), strings.Repeat("a", 54), strings.Repeat("a", 253)} {
			key := app.Key{Kind: kind, Namespace: "argocd", Name: name}
			mark := desired.PartOfValue(key)
			if !label.MatchString(mark) {
				t.Errorf("%s: %q is no value of a label", key, mark)
			}
			if other, ok := seen[mark]; ok {
				t.Errorf("%s and %s have the mark %s", key, other, mark)
			}
			seen[mark] = key
		}
	}
	// The marks that Kustomizations have borne from the beginning.
	if got := desired.PartOfValue(app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}); got != "flux-system.web" {
		t.Errorf("got %s", got)
	}
}
