package view

import (
	"github.com/truce-gitops/truce/internal/controller/instance"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestFlagsThatWereWrittenDownAreTakenAndSaid(t *testing.T) {
	o := object.Object{
		"metadata": map[string]any{"namespace": "truce-system", "name": instance.ConfigMap},
		"data":     map[string]any{"claims": "off", "mode": "", "claims.yaml": "claims: [{id: broken"},
	}
	p := controllerSettings{catalogue: claim.Builtin()}
	p.take(instance.New(nil, o))
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
