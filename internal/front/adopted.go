package front

import "github.com/truce-gitops/truce/internal/app"

// Adopt lays over an app what its annotations say of another controller: how is truce.dev/adopted, passage what the dialect knows of the
// other, and the app's mode may be Release still. An app that the other reconciles again is only observed: two controllers never keep
// one app, whatever was agreed before. It returns what is wrong with the annotation, or what is worth saying; "" for nothing.
func Adopt(a *app.App, how string, passage app.Adoption) (problem, note string) {
	passage.Way = app.Way(how)
	switch {
	case a.Policy.Mode == app.Release:
		a.Policy.Mode, a.Suspended = app.Observe, false
		passage.Way = app.HandBack
	case how == "":
		return "", ""
	case !passage.Takes():
		return "want one of beside, alone", ""
	case a.Policy.Mode != app.Enforce:
		return "", ""
	case passage.Way == app.TakeBeside && !a.Suspended:
		a.Policy.Mode = app.Observe
		return "", "the other controller has the app again: truce only observes until that stands still (truce adopt), or for good (truce release)"
	case passage.Way == app.TakeBeside:
		a.Suspended = false // the switch is the other's
	}
	a.Adoption = passage
	return "", ""
}
