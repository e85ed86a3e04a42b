package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// adoptedAt is when the adoption of the cases was asked for.
var adoptedAt = time.Date(2026, 1, 2, 11, 0, 0, 0, time.UTC)

// wrote is an entry of managedFields that holds a value, of so long after the adoption.
func wrote(manager, operation string, after time.Duration) string {
	return fmt.Sprintf("  - {manager: %s, operation: %s, apiVersion: v1, time: %q, fieldsType: FieldsV1, fieldsV1: {f:data: {f:a: {}}}}\n",
		manager, operation, adoptedAt.Add(after).Format(time.RFC3339))
}

const ours = "  - {manager: truce, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:metadata: {f:labels: {f:truce.dev/part-of: {}}}}}\n"

// TestWhatWasWrittenAfterTheAdoptionIsNotTaken checks which entries an adoption takes, and which one ends it.
func TestWhatWasWrittenAfterTheAdoptionIsNotTaken(t *testing.T) {
	at := adoptedAt
	flux, argo := "kustomize-controller", "argocd-controller"
	for name, c := range map[string]struct {
		owners, annotations string
		manager             string
		at                  time.Time
		passed              bool
		mode                policy.Mode
		taken               int
		lost                bool
	}{
		"before it is ours, all is taken":                  {owners: wrote(flux, "Apply", time.Hour) + wrote("kubectl-client-side-apply", "Update", time.Hour), at: at, taken: 2},
		"the other wrote before the adoption":              {owners: ours + wrote(flux, "Apply", -time.Hour), at: at, taken: 1},
		"the other wrote after the adoption":               {owners: ours + wrote(flux, "Apply", time.Hour), at: at, lost: true},
		"also where the adoption has no time":              {owners: ours + wrote(flux, "Apply", time.Hour), passed: true, lost: true},
		"without a time nothing says that it was after":    {owners: ours + wrote(flux, "Apply", time.Hour), taken: 1},
		"what was seen free of it was adopted":             {owners: ours + wrote(flux, "Apply", -time.Hour), at: at, passed: true, lost: true},
		"an update of the other's":                         {owners: ours + wrote(argo, "Update", time.Hour), manager: argo, at: at, lost: true},
		"nothing is left":                                  {owners: ours, at: at, passed: true},
		"a person applies":                                 {owners: ours + wrote("kubectl-client-side-apply", "Update", time.Hour), annotations: "x", at: at},
		"a person applies, as was seen":                    {owners: ours + wrote("kubectl-client-side-apply", "Update", -time.Hour), annotations: "x", at: at, passed: true},
		"what kubectl applied before the adoption":         {owners: ours + wrote("kubectl-client-side-apply", "Update", -time.Hour), annotations: "x", at: at, taken: 1},
		"another manager does not apply Git":               {owners: ours + wrote("k9s", "Update", time.Hour), at: at, passed: true},
		"Helm is not the controller that it is taken from": {owners: ours + wrote("helm-controller", "Apply", time.Hour), at: at, passed: true},
		"also where no sync was requested":                 {owners: ours + wrote(flux, "Apply", time.Hour), at: at, mode: policy.Await, lost: true},
		"only a sync takes anything":                       {owners: ours + wrote(flux, "Apply", -time.Hour), at: at, mode: policy.Await},
		"an observed app loses nothing":                    {owners: ours + wrote(flux, "Apply", time.Hour), at: at, mode: policy.Observe},
	} {
		t.Run(name, func(t *testing.T) {
			if c.manager == "" {
				c.manager = flux
			}
			if c.mode == "" {
				c.mode = policy.Enforce
			}
			in := decide.Input{
				Live: adoptedObject(t, c.owners, c.annotations), Policy: policy.Policy{Mode: c.mode},
				Adoption: policy.Adoption{Mode: policy.TakeAlone, Manager: c.manager, At: c.at}, Adopted: c.passed,
			}
			in.Owners = ownersOf(t, in.Live)
			p := decide.JudgeObject(in)
			taken := 0
			for _, s := range p.Steps {
				if s.Verb == decide.Adopt {
					taken = len(s.From)
				}
			}
			if taken != c.taken || (p.AdoptionLost != "") != c.lost || p.AdoptionLost != "" && !strings.Contains(p.AdoptionLost, c.manager+" wrote ConfigMap shop/web at 2026-01-02T") {
				t.Errorf("%d entries taken, want %d; lost: %q", taken, c.taken, p.AdoptionLost)
			}
		})
	}
}

func adoptedObject(t *testing.T, owners, annotation string) object.Object {
	t.Helper()
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  namespace: shop\n"
	if annotation != "" {
		text += "  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}\n"
	}
	return given.Object(t, text+"  labels: {truce.dev/part-of: x}\n  managedFields:\n"+owners+"data: {a: b}\n")
}
