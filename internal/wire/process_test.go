package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/object"
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
	if text, err := additions(builtin); text != "" || err != nil {
		t.Errorf("the built-in catalogue adds %q, %v", text, err)
	}
	off := builtin.Entries()[0].ID
	want, err := builtin.With("mine.yaml", []byte(userClaims+"- {id: "+off+", off: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := additions(want)
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

func TestFlagsThatWereWrittenDownAreTakenAndSaid(t *testing.T) {
	o := object.Object{
		"metadata": map[string]any{"namespace": "truce-system", "name": processConfig},
		"data":     map[string]any{keyClaims: "off", keyMode: "", keyCatalogue: "claims: [{id: broken"},
	}
	p := process{catalogue: claim.Builtin()}
	p.take(o)
	if diff := cmp.Diff(app.Policy{Claims: app.ClaimsOff}, p.policy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(p.notes) != 2 || p.notes[0] != "as the controller runs: --claims=off (ConfigMap truce-system/truce-controller)" || !strings.HasPrefix(p.notes[1], "claims left out: ") {
		t.Errorf("notes: %q", p.notes)
	}
	if n := len(p.catalogue.Entries()); n != len(claim.Builtin().Entries()) {
		t.Errorf("%d entries", n)
	}
}
