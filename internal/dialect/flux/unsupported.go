package flux

import "slices"

// fieldAdvice is a field that changes what happens, and that truce cannot do: an app that sets it is refused, since going on
// without it would apply something that is written nowhere.
type fieldAdvice struct{ field, instead string }

// unsupportedInKustomization are those of Kustomization. The old names are of API versions that Flux has removed.
var unsupportedInKustomization = []fieldAdvice{
	{"buildMetadata", "write buildMetadata into kustomization.yaml"},
	{"decryption", "encrypted files would be applied as they are"},
	{"dependsOn", "objects would be applied before what they need"},
	{"force", "immutable fields are reported, and the object is left alone"},
	{"healthCheckExprs", "custom health rules would not be looked at"},
	{"healthChecks", "use wait: true, which waits for all objects"},
	{"kubeConfig", "objects would go to the wrong cluster"},
	{"patchesJson6902", "Flux has removed it; write patches into kustomization.yaml"},
	{"patchesStrategicMerge", "Flux has removed it; write patches into kustomization.yaml"},
	{"postBuild", "variables would be applied as they stand in the files"},
}

// unsupportedInGitRepository are those of GitRepository.
var unsupportedInGitRepository = []fieldAdvice{
	{"include", "files of other repositories would be absent"},
	{"proxySecretRef", "the server would be asked directly"},
	{"recurseSubmodules", "files of submodules would be absent"},
	{"serviceAccountName", "use secretRef"},
	{"sparseCheckout", "use ignore to leave files out"},
	{"verify", "commits would be applied whose signature nobody has checked"},
}

func findUnsupported(table []fieldAdvice, field string) (fieldAdvice, bool) {
	i := slices.IndexFunc(table, func(l fieldAdvice) bool { return l.field == field })
	if i < 0 {
		return fieldAdvice{}, false
	}
	return table[i], true
}

// refuse makes a field that truce cannot do a problem, if it says anything.
func (r *reading) refuse(l fieldAdvice, spec map[string]any) {
	if isSet(spec[l.field]) && !unreadByFlux(l.field, spec) {
		r.Unsupported("spec."+l.field, l.instead)
	}
}

// unreadByFlux reports the fields that Flux itself does not look at beside others.
func unreadByFlux(field string, spec map[string]any) bool {
	switch field {
	case "healthChecks":
		return spec["wait"] == true
	case "healthCheckExprs":
		return spec["wait"] != true && !isSet(spec["healthChecks"])
	}
	return false
}
