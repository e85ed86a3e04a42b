package dialect_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
)

func TestTwoControllersNeverKeepOneApp(t *testing.T) {
	for name, c := range map[string]struct {
		mode      policy.Mode
		suspended bool
		how       string
		want      policy.Mode
		stands    bool
		way       policy.AdoptionMode
		problem   bool
		note      bool
		lost      string
	}{
		"not adopted":                      {mode: policy.Enforce, suspended: true, want: policy.Enforce, stands: true},
		"adopted while the other stands":   {mode: policy.Enforce, suspended: true, how: "beside", want: policy.Enforce, way: policy.TakeBeside},
		"the other goes on again":          {mode: policy.Enforce, how: "beside", want: policy.Observe, note: true},
		"the other has written since":      {mode: policy.Enforce, how: "alone", lost: "kustomize-controller wrote it", want: policy.Observe, note: true},
		"it is observed by the annotation": {mode: policy.Observe, how: "alone", lost: "kustomize-controller wrote it", want: policy.Observe},
		"handed back after that":           {mode: policy.Release, how: "alone", lost: "kustomize-controller wrote it", want: policy.Observe, way: policy.HandBack},
		"the other does not run":           {mode: policy.Enforce, how: "alone", want: policy.Enforce, way: policy.TakeAlone},
		"then the switch is truce's":       {mode: policy.Enforce, suspended: true, how: "alone", want: policy.Enforce, stands: true, way: policy.TakeAlone},
		"adopted, and only observed":       {mode: policy.Observe, how: "alone", want: policy.Observe},
		"handed back":                      {mode: policy.Release, suspended: true, how: "beside", want: policy.Observe, way: policy.HandBack},
		"handed back by the mode alone":    {mode: policy.Release, want: policy.Observe, way: policy.HandBack},
		"a word that is none":              {mode: policy.Enforce, how: "maybe", want: policy.Enforce, problem: true},
		"the word for the way back is not": {mode: policy.Enforce, how: "release", want: policy.Enforce, problem: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := app.App{Policy: policy.Policy{Mode: c.mode}, Suspended: c.suspended}
			problem, note := dialect.ApplyAdoption(&a, c.how, policy.Adoption{Manager: "kustomize-controller", Lost: c.lost})
			if lost := a.Adoption.Lost; lost != note || lost != "" && (!strings.HasPrefix(lost, "Flux works on the app again") || !strings.Contains(lost, c.lost)) {
				t.Errorf("it is lost: %q, and the note is %q", lost, note)
			}
			if a.Policy.Mode != c.want || a.Suspended != c.stands || a.Adoption.Mode != c.way || (problem != "") != c.problem || (note != "") != c.note {
				t.Errorf("mode %s, suspended %v, way %q, problem %q, note %q", a.Policy.Mode, a.Suspended, a.Adoption.Mode, problem, note)
			}
		})
	}
}
