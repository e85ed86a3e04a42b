package flux

import (
	"fmt"
	"regexp"

	"github.com/fluxcd/pkg/apis/kustomize"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
)

// rules reads the three places where a user may name fields that are not Git's; what they say adds up.
func (r *reading) rules(cr object.Object, spec KustomizationSpec) ignore.Rules {
	var out ignore.Rules
	if r.HasProblemWithin("spec.ignore") {
		spec.Ignore = nil // read in part only
	}
	for i, ig := range spec.Ignore {
		name := fmt.Sprintf("spec.ignore[%d]", i)
		var pointers []field.Pointer
		for j, path := range ig.Paths {
			pointers = r.pointer(pointers, fmt.Sprintf("%s.paths[%d]", name, j), path)
		}
		out = r.rule(out, ignore.Rule{Name: name, Pointers: pointers, Target: r.target(name, ig.Target)}, len(ig.Paths))
	}
	out = append(out, r.differences("spec.ignoreDifferences", spec.IgnoreDifferences)...)
	return append(out, r.annotatedRules(cr)...)
}

// annotatedRules reads the annotation that serves where a foreign CRD drops spec.ignoreDifferences.
func (r *reading) annotatedRules(cr object.Object) ignore.Rules {
	text, there := cr.Annotation(ignoreKey)
	if !there {
		return nil
	}
	list, ok := r.yaml("annotation "+ignoreKey, text).([]any)
	if !ok {
		r.Problem("annotation "+ignoreKey, "want the list that spec.ignoreDifferences would hold, as YAML or JSON")
		return nil
	}
	var in struct {
		List []IgnoreDifference `json:"truce.dev/ignore-differences"`
	}
	r.Decode("annotation ", map[string]any{ignoreKey: list}, &in)
	return r.differences("annotation "+ignoreKey, in.List)
}

// yaml reads a text as decoded JSON, nil if it is none; the caller says what it wanted instead.
func (r *reading) yaml(where, text string) any {
	var v any
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		r.Problem(where, "%s", reader.DecodeErrorText(err))
		return nil
	}
	return v
}

func (r *reading) differences(where string, list []IgnoreDifference) ignore.Rules {
	if r.HasProblemWithin(where) {
		return nil // read in part only
	}
	var out ignore.Rules
	for i, d := range list {
		name := fmt.Sprintf("%s[%d]", where, i)
		var pointers []field.Pointer
		for j, patch := range d.JSONPatches {
			at := fmt.Sprintf("%s.jsonPatches[%d]", name, j)
			if patch.Op != "remove" {
				r.Problem(at+".op", "%s; only remove has a meaning here", meaning(patch.Op))
				continue
			}
			pointers = r.pointer(pointers, at+".path", patch.Path)
		}
		out = r.rule(out, ignore.Rule{Name: name, Pointers: pointers, Target: r.target(name, d.Target)}, len(d.JSONPatches))
	}
	return out
}

// meaning says what an operation of RFC 6902 would do to Git's object.
func meaning(op string) string {
	switch op {
	case "add", "replace", "move", "copy":
		return "op " + op + " would set a value"
	case "test":
		return "op test would change nothing"
	case "":
		return "there is no op"
	}
	return fmt.Sprintf("op %q is none of JSON Patch", op)
}

// rule adds a rule that names at least one field. Named counts the fields that it tried to name.
func (r *reading) rule(out ignore.Rules, rule ignore.Rule, named int) ignore.Rules {
	if named == 0 {
		r.Problem(rule.Name, "names no field")
	}
	return append(out, rule)
}

func (r *reading) pointer(out []field.Pointer, where, text string) []field.Pointer {
	p, err := ignore.ParsePointer(text)
	if err != nil {
		r.Problem(where, "%v", err)
		return out
	}
	return append(out, p)
}

// target compiles a selector as Flux does: anchored regular expressions, and label selectors for both maps.
func (r *reading) target(rule string, s *kustomize.Selector) ignore.Target {
	if s == nil {
		return ignore.Target{}
	}
	at := rule + ".target."
	return ignore.Target{
		Group:       r.pattern(at+"group", s.Group),
		Version:     r.pattern(at+"version", s.Version),
		Kind:        r.pattern(at+"kind", s.Kind),
		Namespace:   r.pattern(at+"namespace", s.Namespace),
		Name:        r.pattern(at+"name", s.Name),
		Labels:      r.selector(at+"labelSelector", s.LabelSelector),
		Annotations: r.selector(at+"annotationSelector", s.AnnotationSelector),
	}
}

func (r *reading) pattern(where, text string) *regexp.Regexp {
	re, err := ignore.Pattern(text)
	if err != nil {
		r.Problem(where, "%v", err)
	}
	return re
}

// selection is a label selector over either map of an object.
type selection struct{ labels.Selector }

func (s selection) Matches(values map[string]string) bool {
	return s.Selector.Matches(labels.Set(values))
}

func (r *reading) selector(where, text string) ignore.Selector {
	if text == "" {
		return nil
	}
	s, err := labels.Parse(text)
	if err != nil {
		r.Problem(where, "%v", err)
		return nil
	}
	return selection{s}
}
