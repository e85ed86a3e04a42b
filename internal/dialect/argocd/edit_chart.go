package argocd

import (
	"reflect"
	"slices"

	"github.com/truce-gitops/truce/internal/model/overlay"
)

// chart changes spec.source.helm as the program argocd does (setHelmOpt of argo-cd). Where nothing is left in it, it goes.
func (e *edit) chart(c overlay.ChartChange) {
	if reflect.DeepEqual(c, overlay.ChartChange{}) || e.severalSources() {
		return
	}
	at := func(key string) []string { return []string{"spec", "source", "helm", key} }
	e.SetText(c.Chart, "spec", "source", "chart")
	e.SetText(c.Release, at("releaseName")...)
	e.SetText(c.Namespace, at("namespace")...)
	e.SetText(c.Version, at("version")...)
	e.SetText(c.KubeVersion, at("kubeVersion")...)
	if c.Values != nil { // a text and an object are two forms of the same values
		e.SetText(c.Values, at("values")...)
		e.Drop(at("valuesObject")...)
	}
	e.texts(c.ValueFiles, at("valueFiles"))
	e.texts(c.APIVersions, at("apiVersions"))
	e.flag(c.PassCredentials, at("passCredentials"))
	e.flag(c.MissingFiles, at("ignoreMissingValueFiles"))
	e.flag(c.SkipCRDs, at("skipCrds"))
	e.flag(c.SkipTests, at("skipTests"))
	e.flag(c.NoSchemas, at("skipSchemaValidation"))
	for _, p := range c.Parameters {
		e.parameter(p, at)
	}
	e.withoutParameters(c.DropParameters, at)
	e.withoutFiles(c.DropValueFiles, at("valueFiles"))
	e.dropEmpty("spec", "source", "helm")
}

// texts sets a list; none leaves it as it is.
func (e *edit) texts(values, path []string) {
	if len(values) == 0 {
		return
	}
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	e.Put(out, path...)
}

// parameter sets a parameter in the list of its form.
func (e *edit) parameter(p overlay.Parameter, at func(key string) []string) {
	if p.File {
		e.entry(p.Name, map[string]any{"name": p.Name, "path": p.Value}, at("fileParameters"))
		return
	}
	value := map[string]any{"name": p.Name, "value": p.Value}
	if p.Text {
		value["forceString"] = true
	}
	e.entry(p.Name, value, at("parameters"))
}

func (e *edit) withoutParameters(names []string, at func(key string) []string) {
	for _, name := range names {
		found := false
		for _, key := range []string{"parameters", "fileParameters"} {
			found = e.dropEntries(func(v any) bool { return overrideOf(v) == name }, at(key)) || found
		}
		if !found {
			e.Refuse("spec.source.helm has no parameter %s", name)
		}
	}
}

func (e *edit) withoutFiles(files, path []string) {
	for _, file := range files {
		if !e.dropEntries(func(v any) bool { return v == file }, path) {
			e.Refuse("spec.source.helm.valueFiles has no %s", file)
		}
	}
}

// dropEntries takes entries of a list away, and the list with the last of them. It reports whether there were any.
func (e *edit) dropEntries(drop func(any) bool, path []string) bool {
	list, _ := e.CR.At(path...).([]any)
	left := slices.DeleteFunc(slices.Clone(list), drop)
	if len(left) == 0 {
		e.Drop(path...)
	} else {
		e.Put(left, path...)
	}
	return len(left) < len(list)
}
