package argocd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
)

func settingsOf(data map[string]any) object.Object {
	return object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm", "namespace": "argocd"}, "data": data}
}

func TestWhatIsIgnoredBySettings(t *testing.T) {
	const key = "resource.customizations.ignoreDifferences."
	deployment := object.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a", "namespace": "b"}}
	service := object.Object{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a", "namespace": "b"}}
	for name, c := range map[string]struct {
		data                map[string]any
		deployment, service bool // are they covered
		problem             string
	}{
		"none":                {map[string]any{"url": "https://argocd.example"}, false, false, ""},
		"all kinds":           {map[string]any{key + "all": "jsonPointers: [/spec/a]"}, true, true, ""},
		"a kind":              {map[string]any{key + "apps_Deployment": "jqPathExpressions: ['.spec.a']"}, true, false, ""},
		"a kind of the core":  {map[string]any{key + "Service": "managedFieldsManagers: [robot]"}, false, true, ""},
		"another group":       {map[string]any{key + "extensions_Deployment": "jsonPointers: [/spec/a]"}, false, false, ""},
		"the older form":      {map[string]any{"resource.customizations": "apps/Deployment: {ignoreDifferences: 'jsonPointers: [/spec/a]', health.lua: x}\nService: {health.lua: y}"}, true, false, ""},
		"nothing named":       {map[string]any{key + "all": "{}"}, false, false, ""},
		"other settings":      {map[string]any{"resource.customizations.health.apps_Deployment": "return {}", "resource.customizations.ignoreResourceUpdates.all": "jsonPointers: [/status]"}, false, false, ""},
		"no YAML":             {map[string]any{key + "all": "jsonPointers: ["}, false, false, "ConfigMap argocd-cm: " + key + "all"},
		"no pointer":          {map[string]any{key + "all": "jsonPointers: [spec]"}, true, true, key + "all.jsonPointers[0]"},
		"no YAML, older form": {map[string]any{"resource.customizations": "apps/Deployment: ["}, false, false, "ConfigMap argocd-cm: resource.customizations"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, all := argocd.Projects{}.Ignored(settingsOf(c.data))
			for o, want := range map[*object.Object]bool{&deployment: c.deployment, &service: c.service} {
				if covers := slices.ContainsFunc(rules, func(r ignore.Rule) bool { return r.Target.Matches(*o) }); covers != want {
					t.Errorf("%s covered: %v", o.ID(), covers)
				}
			}
			problems := ""
			for _, p := range all {
				problems += p.String()
			}
			if (problems == "") != (c.problem == "") || !strings.Contains(problems, c.problem) {
				t.Errorf("problems: %q", problems)
			}
		})
	}
	other := settingsOf(map[string]any{key + "all": "jsonPointers: [/spec/a]", "globalProjects": "[{projectName: a}]"})
	other["metadata"] = map[string]any{"name": "argocd-cmd-params-cm", "namespace": "argocd"}
	if rules, _ := (argocd.Projects{}).Ignored(other); len(rules)+len((argocd.Projects{}).Globals(other)) > 0 {
		t.Error("another ConfigMap is read")
	}
}

func FuzzSettingsNeverPanic(f *testing.F) {
	f.Add("resource.customizations.ignoreDifferences.all", "jsonPointers: [/spec/a]")
	f.Add("resource.customizations", "apps/Deployment: {ignoreDifferences: 'jqPathExpressions: [.a]'}")
	f.Add("globalProjects", "[{projectName: a, labelSelector: {matchLabels: {a: b}}}]")
	f.Fuzz(func(_ *testing.T, key, value string) {
		cm := settingsOf(map[string]any{key: value})
		_, _ = argocd.Projects{}.Ignored(cm)
		argocd.Projects{}.Globals(cm)
	})
}
