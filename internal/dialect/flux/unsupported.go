package flux

import "slices"

// fieldAdvice is a field that changes what happens, and that truce cannot do: an app that sets it is refused, since going on
// without it would apply something that is written nowhere.
type fieldAdvice struct{ field, instead string }

// unsupportedInKustomization are those of Kustomization.
var unsupportedInKustomization = []fieldAdvice{}

func findUnsupported(table []fieldAdvice, field string) (fieldAdvice, bool) {
	i := slices.IndexFunc(table, func(l fieldAdvice) bool { return l.field == field })
	if i < 0 {
		return fieldAdvice{}, false
	}
	return table[i], true
}

// refuse makes a field that truce cannot do a problem, if it says anything.
func (r *reading) refuse(l fieldAdvice, spec map[string]any) {
	if isFieldSet(spec[l.field]) && !unreadByFlux(l.field, spec) {
		r.Unsupported("spec."+l.field, l.instead)
	}
}

// unreadByFlux reports the fields that Flux itself does not look at beside others.
func unreadByFlux(field string, spec map[string]any) bool {
	switch field {
	case "healthChecks":
		return spec["wait"] == true
	}
	return false
}
