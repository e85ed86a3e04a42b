package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// origins are the places that give a field of an object its value: of a chart the template, and the key of the values where that is known.
func (f *files) origins(u discover.Unit, o desired.Object) func(field.Path) []desired.Place {
	if !u.IsOfChart(o.File) {
		return desired.FieldOrigins(f.tree(), u.App, o)
	}
	return func(p field.Path) []desired.Place {
		if len(p) == 0 {
			return nil
		}
		out := []desired.Place{{File: o.File, Line: o.Line, Means: desired.ByTemplate}}
		for _, from := range u.Origins {
			if from.Group == o.ID.Group && from.Kind == o.ID.Kind && from.Name == o.ID.Name && (from.Namespace == "" || from.Namespace == o.ID.Namespace) &&
				slices.Equal(from.Field, originSteps(o.Data, p)) {
				return append(out, f.valuesPlace(u, from))
			}
		}
		return out
	}
}

// originSteps are the steps to a field as release.Origin has them; nil where it is not there.
func originSteps(o object.Object, p field.Path) []string {
	var v any = map[string]any(o)
	var out []string
	for _, e := range p {
		next, there := field.ChildValue(v, e)
		if !there {
			return nil
		}
		if e.FieldName != nil {
			out = append(out, *e.FieldName)
		} else {
			list, _ := v.([]any)
			out = append(out, strconv.Itoa(slices.IndexFunc(list, func(item any) bool { return field.EqualValues(item, next) })))
		}
		v = next
	}
	return out
}

// valuesPlace is where the repository writes a key of a chart's values.
func (f *files) valuesPlace(u discover.Unit, o release.Origin) desired.Place {
	at := desired.Place{File: o.File, Line: o.Line}
	switch {
	case o.File != "":
	case u.App.Release != nil && o.From == "spec.values", strings.HasSuffix(o.From, ".valuesObject"):
		at = f.said(&u, o.From+bracketed(o.Key))
	case strings.HasPrefix(o.From, "ConfigMap "), strings.HasPrefix(o.From, "Secret "):
		at = f.dataPlace(u, o)
	default:
		at = f.said(&u, o.From)
	}
	at.Means, at.Exact, at.Key = desired.ByValues, true, o.Key
	return at
}

// bracketed is a key of values as fieldSteps takes it, whatever its names hold.
func bracketed(key string) string {
	var b strings.Builder
	for _, step := range valueSteps(key) {
		fmt.Fprintf(&b, "[%q]", step)
	}
	return b.String()
}

// valueSteps are the steps of a key as helm --set has it.
func valueSteps(key string) []string {
	const dot = "\x00"
	key = strings.NewReplacer(`\.`, dot, "[", ".", "]", "").Replace(key)
	out := strings.Split(key, ".")
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], dot, ".")
	}
	return out
}

// dataPlace is the line of a ConfigMap or Secret that has a key of the values: the object's own, where a generator makes it.
func (f *files) dataPlace(u discover.Unit, from release.Origin) desired.Place {
	ref, key, _ := strings.Cut(from.From, " key ")
	kind, name, _ := strings.Cut(ref, " ")
	for _, other := range f.survey.Units {
		for _, o := range other.Objects {
			if o.ID.Group != "" || o.ID.Kind != kind || o.ID.Namespace+"/"+o.ID.Name != name {
				continue
			}
			data := "data"
			if _, plain := field.ValueAt(o.Data, field.NewPath("stringData", key)); plain {
				data = "stringData"
			}
			at := f.value(other, o, field.NewPath(data, key))
			if line := f.lineInText(at, valueSteps(from.Key)); line > 0 {
				at.Line, at.Column = line, 0
			}
			return at
		}
	}
	return f.said(&u, "spec.valuesFrom")
}

// lineInText is the line of a file that has a key of the YAML which a place is about: of a block of text there, or of a whole file that a generator has
// taken; 0 where it is neither.
func (f *files) lineInText(at desired.Place, steps []string) int {
	docs := f.nodes(at.File)
	if len(docs) == 1 && at.Line <= 1 && render.FieldNode(docs[0], "kind") == nil {
		return lineOf(docs[0], steps)
	}
	for _, doc := range docs {
		n := valueAt(doc, at.Line, at.Column)
		if n == nil || n.Style != yaml.LiteralStyle {
			continue
		}
		inner, err := render.ParseNodes(at.File, []byte(n.Value))
		if err != nil || len(inner) != 1 {
			return 0
		}
		if line := lineOf(inner[0], steps); line > 0 {
			return n.Line + line
		}
		return 0
	}
	return 0
}

// lineOf is the line of the value at a key; 0 where there is none.
func lineOf(v *yaml.Node, steps []string) int {
	for _, step := range steps {
		if _, v = childNode(v, step); v == nil {
			return 0
		}
	}
	return v.Line
}

// chartRemedy is what ends a fight over a field that a chart renders.
func (s scaled) chartRemedy() string {
	name := strings.ReplaceAll(field.PathString(s.claim.Path), ".", "/")
	text := fmt.Sprintf("have the template (%s) leave %s out where an autoscaler moves it", upstream.DisplayName(s.object.File, s.object.Line, 0), strings.TrimPrefix(field.PathString(s.claim.Path), "."))
	if s.unit.App.Release == nil {
		return text + fmt.Sprintf("; or ignore %s, with RespectIgnoreDifferences=true", name)
	}
	return text + fmt.Sprintf("; or take it out of what the chart renders by spec.postRenderers: kustomize.patches with op: remove, path: %s, target {kind: %s, name: %s}",
		name, s.object.ID.Kind, s.object.ID.Name)
}

// chartFate is what a HelmRelease does about the autoscaler's count.
func (s scaled) chartFate(count any) string {
	text := fmt.Sprintf("every upgrade of %s resets it to %v", s.unit.Name(), count)
	if mode, _ := s.unit.Resource.At("spec", "driftDetection", "mode").(string); mode == "enabled" {
		text += ", and its drift detection at every reconciliation"
	}
	return text
}

// keyText names the key of the values that a finding's field comes from.
func keyText(f Finding) string {
	if f.Place.Key == "" {
		return ""
	}
	return "; the chart has it from its value " + f.Place.Key
}
