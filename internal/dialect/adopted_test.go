package dialect_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
)

func TestTwoControllersNeverKeepOneApp(t *testing.T) {
	for name, c := range map[string]struct {
		mode      app.Mode
		suspended bool
		how       string
		want      app.Mode
		stands    bool
		way       app.AdoptionMode
		problem   bool
		note      bool
		lost      string
	}{
		"not adopted":                      {mode: app.Enforce, suspended: true, want: app.Enforce, stands: true},
		"adopted while the other stands":   {mode: app.Enforce, suspended: true, how: "beside", want: app.Enforce, way: app.TakeBeside},
		"the other goes on again":          {mode: app.Enforce, how: "beside", want: app.Observe, note: true},
		"the other has written since":      {mode: app.Enforce, how: "alone", lost: "kustomize-controller wrote it", want: app.Observe, note: true},
		"it is observed by the annotation": {mode: app.Observe, how: "alone", lost: "kustomize-controller wrote it", want: app.Observe},
		"handed back after that":           {mode: app.Release, how: "alone", lost: "kustomize-controller wrote it", want: app.Observe, way: app.HandBack},
		"the other does not run":           {mode: app.Enforce, how: "alone", want: app.Enforce, way: app.TakeAlone},
		"then the switch is truce's":       {mode: app.Enforce, suspended: true, how: "alone", want: app.Enforce, stands: true, way: app.TakeAlone},
		"adopted, and only observed":       {mode: app.Observe, how: "alone", want: app.Observe},
		"handed back":                      {mode: app.Release, suspended: true, how: "beside", want: app.Observe, way: app.HandBack},
		"handed back by the mode alone":    {mode: app.Release, want: app.Observe, way: app.HandBack},
		"a word that is none":              {mode: app.Enforce, how: "maybe", want: app.Enforce, problem: true},
		"the word for the way back is not": {mode: app.Enforce, how: "release", want: app.Enforce, problem: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := app.App{Policy: app.Policy{Mode: c.mode}, Suspended: c.suspended}
			problem, note := dialect.ApplyAdoption(&a, c.how, app.Adoption{Manager: "kustomize-controller", Lost: c.lost})
			if lost := a.Adoption.Lost; lost != note || lost != "" && (!strings.HasPrefix(lost, "Flux works on the app again") || !strings.Contains(lost, c.lost)) {
				t.Errorf("it is lost: %q, and the note is %q", lost, note)
			}
			if a.Policy.Mode != c.want || a.Suspended != c.stands || a.Adoption.Mode != c.way || (problem != "") != c.problem || (note != "") != c.note {
				t.Errorf("mode %s, suspended %v, way %q, problem %q, note %q", a.Policy.Mode, a.Suspended, a.Adoption.Mode, problem, note)
			}
		})
	}
}
