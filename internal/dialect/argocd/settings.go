package argocd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/model/selector"
)

// settingsName is the ConfigMap with the settings of an Argo CD.
const settingsName = "argocd-cm"

// Settings name the ConfigMap that Globals and Ignored read.
func (Projects) Settings() (object.GVK, string) {
	return object.GVK{Version: "v1", Kind: "ConfigMap"}, settingsName
}

// globalProject is an entry of globalProjects in it.
type globalProject struct {
	ProjectName   string `json:"projectName"`
	LabelSelector any    `json:"labelSelector"`
}

// Globals reads from the settings of an Argo CD which projects others inherit from; none of another ConfigMap.
func (Projects) Globals(cm object.Object) []project.Global {
	text := cm.StringAt("data", "globalProjects")
	if cm.Name() != settingsName || text == "" {
		return nil
	}
	var out []project.Global
	unread := func(err error) []project.Global {
		return []project.Global{{Namespace: cm.Namespace(), Problem: fmt.Sprintf("globalProjects in ConfigMap %s/%s cannot be read: %v", cm.Namespace(), settingsName, err)}}
	}
	var all []globalProject
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		return unread(err)
	}
	for _, g := range all {
		selects, err := selector.ReadSelector(g.LabelSelector)
		if err != nil {
			return unread(err)
		}
		out = append(out, project.Global{Namespace: cm.Namespace(), Project: g.ProjectName, Selects: selects})
	}
	return out
}

// customizations begin the keys of the settings that are about kinds of objects; alone it is the key of a map of all of them, by group and kind.
const (
	customizations = "resource.customizations"
	ignoredOfKind  = customizations + ".ignoreDifferences."
)

// Ignored reads from the settings of an Argo CD what is ignored for all its Applications, and what cannot be read of that; nothing of another ConfigMap.
func (Projects) Ignored(cm object.Object) (ignore.Rules, []app.Problem) {
	if cm.Name() != settingsName {
		return nil, nil
	}
	data, _ := cm["data"].(map[string]any)
	r := &reading{}
	var out ignore.Rules
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, _ := data[key].(string)
		if kind, ofKind := strings.CutPrefix(key, ignoredOfKind); ofKind {
			out = append(out, r.sharedRule(key, kindOfKey(kind), text)...)
		} else if key == customizations {
			out = append(out, r.olderRules(text)...)
		}
	}
	return out, r.Problems
}

// olderRules reads the map of all customizations.
func (r *reading) olderRules(text string) (out ignore.Rules) {
	var all map[string]struct {
		IgnoreDifferences string `json:"ignoreDifferences"`
	}
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		r.Problem(settingField(customizations), "%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if of := all[name].IgnoreDifferences; of != "" {
			out = append(out, r.sharedRule(customizations+": "+name, splitKind(name, "/"), of)...)
		}
	}
	return out
}

// settingField is a key of the settings, for messages.
func settingField(key string) string { return "ConfigMap " + settingsName + ": " + key }

// kindOfKey reads GROUP_KIND, KIND or all.
func kindOfKey(text string) ignoreDifference {
	if text == "all" {
		return ignoreDifference{Group: "*", Kind: "*"}
	}
	return splitKind(text, "_")
}

func splitKind(text, separator string) ignoreDifference {
	group, kind, both := strings.Cut(text, separator)
	if !both {
		return ignoreDifference{Kind: text}
	}
	return ignoreDifference{Group: group, Kind: kind}
}

// sharedRule reads what is ignored on objects of a kind; nothing where nothing is named.
func (r *reading) sharedRule(key string, of ignoreDifference, text string) []ignore.Rule {
	var fields struct {
		JSONPointers          []string `json:"jsonPointers"`
		JQPathExpressions     []string `json:"jqPathExpressions"`
		ManagedFieldsManagers []string `json:"managedFieldsManagers"`
	}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		r.Problem(settingField(key), "%v", err)
		return nil
	}
	of.JSONPointers, of.JQPathExpressions, of.ManagedFieldsManagers = fields.JSONPointers, fields.JQPathExpressions, fields.ManagedFieldsManagers
	if len(of.JSONPointers)+len(of.JQPathExpressions)+len(of.ManagedFieldsManagers) == 0 {
		return nil
	}
	rule := r.rule(settingField(key), of)
	rule.Shared = true
	return []ignore.Rule{rule}
}
