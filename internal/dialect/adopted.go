package dialect

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// ApplyAdoption lays over an app what its annotations say of another controller: how is truce.dev/adopted, passage what the dialect knows of the
// other, and the app's mode may be Release still. An app that the other reconciles again is only observed: two controllers never write
// one app, whatever was agreed before. It returns what is wrong with the annotation, or what is worth saying; "" for nothing.
func ApplyAdoption(a *app.App, how string, passage policy.Adoption) (problem, note string) {
	passage.Mode = policy.AdoptionMode(how)
	switch {
	case a.Policy.Mode == policy.Release:
		a.Policy.Mode, a.Suspended = policy.Observe, false
		passage.Mode, passage.Lost = policy.HandBack, ""
	case how == "":
		return "", ""
	case !passage.Takes():
		return "want one of beside, alone", ""
	case a.Policy.Mode != policy.Enforce:
		return "", ""
	case passage.Lost != "":
		return "", markAdoptionLost(a, passage, passage.Lost)
	case passage.Mode == policy.TakeBeside && !a.Suspended:
		return "", markAdoptionLost(a, passage, "it is no longer suspended for "+reader.ControllerOf(passage.Manager))
	case passage.Mode == policy.TakeBeside:
		a.Suspended = false // the switch is the other's
	}
	a.Adoption = passage
	return "", ""
}

// markAdoptionLost leaves an adopted app to the controller that it was adopted from.
func markAdoptionLost(a *app.App, passage policy.Adoption, why string) string {
	other := reader.ControllerOf(passage.Manager)
	text := fmt.Sprintf("%s works on the app again after the adoption (%s): truce only observes it. Stop %s for the app and run truce adopt, or run truce release", other, why, other)
	a.Policy.Mode, a.Suspended = policy.Observe, false
	a.Adoption = policy.Adoption{Manager: passage.Manager, Lost: text}
	return text
}
