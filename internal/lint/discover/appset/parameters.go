package appset

import (
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/render/gotemplate"
)

// parameters are what one Application is made of.
type parameters map[string]any

// flat are the parameters by the names that stand between braces: a.b, list.0.
func (p parameters) flat() map[string]string {
	out := map[string]string{}
	for k, v := range p {
		flatten(out, k, v)
	}
	return out
}

func flatten(out map[string]string, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			flatten(out, name+"."+k, one)
		}
	case []any:
		for i, one := range v {
			flatten(out, name+"."+strconv.Itoa(i), one)
		}
	default:
		out[name] = fmt.Sprint(v)
	}
}

// place adds where a directory, or a file in it, stands: path, or PREFIX.path, and what is below it.
func (m *maker) place(p parameters, g map[string]any, dir, file string) {
	prefix := textValue(g["pathParamPrefix"])
	base := path.Base(dir)
	if m.fill.goTemplate {
		segments := []any{}
		for part := range strings.SplitSeq(dir, "/") {
			segments = append(segments, part)
		}
		here := map[string]any{"path": dir, "basename": base, "basenameNormalized": gotemplate.SanitizeName(base), "segments": segments}
		if file != "" {
			here["filename"], here["filenameNormalized"] = file, gotemplate.SanitizeName(file)
		}
		if prefix != "" {
			p[prefix] = map[string]any{"path": here}
		} else {
			p["path"] = here
		}
		return
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	p[name], p[name+".basename"], p[name+".basenameNormalized"] = dir, base, gotemplate.SanitizeName(base)
	if file != "" {
		p[name+".filename"], p[name+".filenameNormalized"] = file, gotemplate.SanitizeName(file)
	}
	for i, part := range strings.Split(dir, "/") {
		if part != "" {
			p[fmt.Sprintf("%s[%d]", name, i)] = part
		}
	}
}

// values adds the values of a generator, which may name its parameters, but not each other.
func (m *maker) values(p parameters, g map[string]any) error {
	given := mapValue(g["values"])
	if len(given) == 0 {
		return nil
	}
	out := map[string]any{}
	for k, v := range given {
		text, err := m.fill.text(textValue(v), p)
		if err != nil {
			return err
		}
		out[k] = text
	}
	if m.fill.goTemplate {
		p["values"] = out
		return nil
	}
	for k, v := range out {
		p["values."+k] = v
	}
	return nil
}

// deepCopy is a deep copy: a template may change what it is given.
func deepCopy(v any) any {
	switch v := v.(type) {
	case parameters:
		return deepCopy(map[string]any(v))
	case map[string]any:
		out := maps.Clone(v)
		for k, one := range out {
			out[k] = deepCopy(one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = deepCopy(one)
		}
		return out
	}
	return v
}
