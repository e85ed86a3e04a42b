package claim_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// TestAWebhookIsAdmittedByItsEntry: by one of its names, to the fields and on the kinds that the entry names, and where it cedes.
func TestAWebhookIsAdmittedByItsEntry(t *testing.T) {
	entry := func(id, webhook, do string) string {
		return "- {id: " + id + ", family: Test, who: " + id + ", evidence: [" + webhook + "], on: [Deployment.apps], paths: [spec.replicas], do: " + do + ", knowledge: [story], text: A story.}\n"
	}
	c, err := claim.Builtin().With("catalogue.yaml", []byte(
		"claims:\n"+entry("reporter", "{webhook: reports}", "none")+entry("by-manager", "{manager: ci}", "cede")+entry("scaler", "{webhook: 'scale-*'}", "cede")))
	if err != nil {
		t.Fatal(err)
	}
	deployment := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	replicas := field.NewPath("spec", "replicas")
	for _, c2 := range []struct {
		name  string
		id    object.ID
		path  field.Path
		names []string
		want  string
	}{
		{"its name", deployment, replicas, []string{"other", "scale-up"}, "scaler"},
		{"another name", deployment, replicas, []string{"other", "upscale-x"}, ""},
		{"no name", deployment, replicas, nil, ""},
		{"an entry without a webhook", deployment, replicas, []string{"", "ci"}, ""},
		{"an entry that cedes nothing", deployment, replicas, []string{"reports"}, ""},
		{"another field", deployment, field.NewPath("spec", "paused"), []string{"scale-up"}, ""},
		{"another kind", object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}, replicas, []string{"scale-up"}, ""},
		{"an entry of the built-in catalogue", object.ID{Kind: "ConfigMap"}, field.NewPath("data", "a"), []string{"gatekeeper-mutating-webhook-configuration"}, "policy-engines"},
	} {
		e, known := c.Admitted(c2.id, c2.path, c2.names)
		if e.ID != c2.want || known != (c2.want != "") {
			t.Errorf("%s: %q (%t), want %q", c2.name, e.ID, known, c2.want)
		}
	}
}
