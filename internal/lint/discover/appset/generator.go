package appset

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/lint/discover"
)

// asked is a generator that is asked for parameters.
type asked struct {
	kind      string
	at        string // its field of the set: spec.generators[0].list
	generator map[string]any
	selector  any
	template  map[string]any // that its parameters fill
	depth     int            // of generators around it
	given     parameters     // of the generator before it in a matrix
}

// given are the parameters of one Application, and where in the repository they are written.
type given struct {
	parameters
	from []discover.Spot // the ones that win first
}

// outside are the generators whose answer is not in the repository, and whom they ask.
var outside = map[string]string{
	"clusters":                "asks Argo CD which clusters it knows",
	"scmProvider":             "asks the host of the repositories which there are",
	"pullRequest":             "asks the host of the repository which requests are open",
	"plugin":                  "asks a service of its own",
	"clusterDecisionResource": "asks the cluster for a resource that names clusters",
}

// kindsOf are the generators in one entry of a list of generators, in order of name.
func kindsOf(g map[string]any) ([]string, error) {
	out := slices.DeleteFunc(slices.Sorted(maps.Keys(g)), func(k string) bool { return k == "selector" || g[k] == nil })
	for _, name := range out {
		if why, known := outside[name]; known {
			return nil, fmt.Errorf("its generator %s %s", name, why)
		}
		if !slices.Contains([]string{"list", "git", "matrix", "merge"}, name) {
			return nil, fmt.Errorf("its generator %s is not known", name)
		}
	}
	return out, nil
}

// generated are the parameters of a generator, those that its selector lets through.
func (m *maker) generated(a asked) ([]given, error) {
	if len(a.given) > 0 {
		filled, err := m.fill.generator(a.generator, a.given)
		if err != nil {
			return nil, err
		}
		a.generator = filled
	}
	all, err := m.unselected(a)
	if err != nil {
		return nil, err
	}
	if len(all) > maxSets {
		return nil, errTooMany
	}
	if a.selector == nil {
		return all, nil
	}
	s, err := selectorOf(a.selector)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p given) bool { return !s.Matches(p.flat()) }), nil
}

func (m *maker) unselected(a asked) ([]given, error) {
	switch a.kind {
	case "list":
		return m.listed(a)
	case "git":
		return m.git(a)
	case "matrix":
		return m.matrix(a)
	}
	return m.merged(a)
}

// listed are the elements of a list. But for Go templates their values are texts.
func (m *maker) listed(a asked) ([]given, error) {
	g := a.generator
	out := make([]given, 0, len(listValue(g["elements"])))
	for i, e := range listValue(g["elements"]) {
		p, err := toJSONTypes(e)
		if err != nil {
			return nil, fmt.Errorf("an element of its list: %w", err)
		}
		if !m.fill.goTemplate {
			if p, err = onlyTexts(p); err != nil {
				return nil, fmt.Errorf("an element of its list: %w", err)
			}
		}
		out = append(out, given{p, []discover.Spot{{At: fmt.Sprintf("%s.elements[%d]", a.at, i)}}})
	}
	if text := textValue(g["elementsYaml"]); text != "" {
		var more []parameters
		if err := yaml.Unmarshal([]byte(text), &more); err != nil {
			return nil, fmt.Errorf("elementsYaml of its list: %w", err)
		}
		for i, p := range more {
			out = append(out, given{p, []discover.Spot{{At: fmt.Sprintf("%s.elementsYaml[%d]", a.at, i)}}})
		}
	}
	return out, nil
}

// toJSONTypes gives values the types that the controller reads: each number is a float.
func toJSONTypes(v any) (parameters, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := parameters{}
	err = json.Unmarshal(data, &out)
	return out, err
}

// onlyTexts are parameters of which each is a text, but for those below values.
func onlyTexts(p parameters) (parameters, error) {
	out := parameters{}
	for k, v := range p {
		below := map[string]any{k: v}
		if k == "values" {
			below = map[string]any{}
			for name, v := range mapValue(v) {
				below["values."+name] = v
			}
		}
		for k, v := range below {
			if _, ok := v.(string); !ok {
				return nil, fmt.Errorf("%s is no text, which only goTemplate allows", k)
			}
			out[k] = v
		}
	}
	return out, nil
}

// children are the generators in a matrix or a merge. Those of one that is in another already hold no further ones.
func (m *maker) children(a asked) ([]asked, error) {
	var out []asked
	for i, child := range listValue(a.generator["generators"]) {
		g := mapValue(child)
		names, err := kindsOf(g)
		switch {
		case err != nil:
			return nil, err
		case len(names) != 1:
			return nil, fmt.Errorf("%d generators stand in one entry of its %s", len(names), a.kind)
		case a.depth > 0 && (names[0] == "matrix" || names[0] == "merge"):
			return nil, fmt.Errorf("a %s stands in the %s of another generator, which is deeper than Argo CD looks", names[0], a.kind)
		}
		at := fmt.Sprintf("%s.generators[%d].%s", a.at, i, names[0])
		out = append(out, asked{kind: names[0], at: at, generator: mapValue(g[names[0]]), selector: g["selector"], template: a.template, depth: a.depth + 1})
	}
	return out, nil
}

// matrix combines each parameters of one generator with each of another, which may name those of the first.
func (m *maker) matrix(a asked) ([]given, error) {
	two, err := m.children(a)
	if err != nil {
		return nil, err
	}
	if len(two) != 2 {
		return nil, fmt.Errorf("its matrix has %d generators instead of two", len(two))
	}
	first, err := m.generated(two[0])
	if err != nil {
		return nil, err
	}
	var out []given
	for _, p := range first {
		two[1].given = p.parameters
		second, err := m.generated(two[1])
		if err != nil {
			return nil, err
		}
		if len(out)+len(second) > maxSets {
			return nil, errTooMany
		}
		for _, q := range second {
			both, err := m.combined(p.parameters, q.parameters)
			if err != nil {
				return nil, err
			}
			out = append(out, given{both, slices.Concat(p.from, q.from)})
		}
	}
	return out, nil
}

// combined has the parameters of both; with Go templates the first win.
func (m *maker) combined(p, q parameters) (parameters, error) {
	if m.fill.goTemplate {
		return overridden(q, p), nil
	}
	out := parameters{}
	for _, one := range []parameters{p, q} {
		for k, v := range one {
			text := fmt.Sprint(v)
			if was, there := out[k]; there && was != text {
				return nil, fmt.Errorf("both generators of its matrix give %s: %q and %q", k, was, text)
			}
			out[k] = text
		}
	}
	return out, nil
}

// overridden is a map with another's values over its own, deeply. An empty list takes nothing away. Neither is changed.
func overridden(m, by map[string]any) map[string]any {
	out := make(map[string]any, len(m)+len(by))
	maps.Copy(out, m)
	for k, v := range by {
		mine, isMap := out[k].(map[string]any)
		theirs, both := v.(map[string]any)
		list, isList := v.([]any)
		switch {
		case isMap && both:
			out[k] = overridden(mine, theirs)
		case isList && len(list) == 0 && !isEmptyValue(out[k]):
		default:
			out[k] = v
		}
	}
	return out
}

// merged are the parameters of the first generator, with those of the others over them that have the same values for all keys.
func (m *maker) merged(a asked) ([]given, error) {
	all, err := m.children(a)
	if err != nil {
		return nil, err
	}
	keys := listValue(a.generator["mergeKeys"])
	if len(all) < 2 || len(keys) == 0 {
		return nil, errors.New("its merge has fewer than two generators, or no mergeKeys")
	}
	var out []given
	var order map[string]int
	for i, child := range all {
		these, err := m.generated(child)
		if err != nil {
			return nil, err
		}
		at, err := indexByKeys(keys, these)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out, order = these, at
			continue
		}
		for key, k := range at {
			if base, there := order[key]; there {
				out[base] = given{m.over(out[base].parameters, these[k].parameters), slices.Concat(these[k].from, out[base].from)}
			}
		}
	}
	return out, nil
}

func (m *maker) over(base, by parameters) parameters {
	if m.fill.goTemplate {
		return overridden(base, by)
	}
	out := maps.Clone(base)
	maps.Copy(out, by)
	return out
}

// indexByKeys returns the index of the parameters with the same values of the keys.
func indexByKeys(keys []any, all []given) (map[string]int, error) {
	out := map[string]int{}
	for i, p := range all {
		values := map[string]any{}
		for _, k := range keys {
			values[textValue(k)] = p.parameters[textValue(k)]
		}
		data, err := json.Marshal(values)
		if err != nil {
			return nil, err
		}
		if _, twice := out[string(data)]; twice {
			return nil, fmt.Errorf("two parameters of one generator of its merge have %s", data)
		}
		out[string(data)] = i
	}
	return out, nil
}
