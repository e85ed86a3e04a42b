package instance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/object"
)

const userClaims = `
claims:
- id: team-tuner
  who: the tuner
  evidence: [{object: Tuner.example.org, versions: [v1], refers: spec.targetRef}]
  on: [Deployment.apps]
  paths: ['metadata.labels["tuner/*"]', spec.replicas]
  do: cede
  count: {min: spec.least, least: 1, max: spec.most}
  knowledge: [https://example.org/tuner]
  text: It tunes.
`

func TestTheClaimsOfAControllerAreReadAgainAsTheyWere(t *testing.T) {
	builtin := claim.Builtin()
	if text, err := beyondBuiltin(builtin); text != "" || err != nil {
		t.Errorf("the built-in catalogue adds %q, %v", text, err)
	}
	off := builtin.Entries()[0].ID
	want, err := builtin.With("mine.yaml", []byte(userClaims+"- {id: "+off+", off: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := beyondBuiltin(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := builtin.With("published", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	written := func(c *claim.Catalogue) string {
		all := c.Entries()
		for i := range all {
			all[i].File = ""
		}
		text, err := yaml.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if diff := cmp.Diff(written(want), written(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAControllerSaysForWhichNamespacesItWorks(t *testing.T) {
	saying := func(namespaces string) Instance {
		return FromConfigMap(nil, object.Object{"data": map[string]any{keyNamespaces: namespaces}})
	}
	for text, want := range map[string]bool{"": true, "team-a": true, "team-b,team-a": true, "team-b": false, "team": false} {
		if got := saying(text).Namespaces().Cover("team-a"); got != want {
			t.Errorf("%q works for team-a: %v", text, got)
		}
	}
}

func TestInstancesThatOverlap(t *testing.T) {
	all := cluster.Namespaces(nil)
	for name, test := range map[string]struct {
		a, b cluster.Namespaces
		want string
	}{
		"two of the whole cluster":       {all, all, "all"},
		"the whole cluster and one team": {all, cluster.Namespaces{"team-a"}, "team-a"},
		"one team and the whole cluster": {cluster.Namespaces{"team-a"}, all, "team-a"},
		"disjoint namespaces":            {cluster.Namespaces{"team-a"}, cluster.Namespaces{"team-b", "team-c"}, ""},
		"one namespace in common":        {cluster.Namespaces{"team-a", "team-b"}, cluster.Namespaces{"team-b", "team-c"}, "team-b"},
	} {
		if got := strings.Join(Overlap(test.a, test.b), ","); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
