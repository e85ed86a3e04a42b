package appset

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"strconv"
	"strings"
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
		here := map[string]any{"path": dir, "basename": base, "basenameNormalized": normalized(base), "segments": segments}
		if file != "" {
			here["filename"], here["filenameNormalized"] = file, normalized(file)
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
	p[name], p[name+".basename"], p[name+".basenameNormalized"] = dir, base, normalized(base)
	if file != "" {
		p[name+".filename"], p[name+".filenameNormalized"] = file, normalized(file)
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

var notInNames = regexp.MustCompile(`[^a-z0-9.-]`)

// normalized is a text that can be a name (argo-cd SanitizeName).
func normalized(text string) string {
	const longest = 253
	text = notInNames.ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(text[:min(len(text), longest)], "-.")
}

var notInSlugs = regexp.MustCompile(`[^a-z0-9_]+`)

// slugName is a name without dots, of at most a number of letters, cut before a word where that is wanted (argo-cd SlugifyName, gosimple/slug).
func slugName(text string, most int, smart bool) string {
	text = normalized(text)
	if !smart && len(text) >= most {
		text = text[:max(most, 0)]
	}
	text = strings.Trim(notInSlugs.ReplaceAllString(text, "-"), "-_")
	if !smart || most <= 0 || len(text) <= most {
		return text
	}
	if i := strings.LastIndexByte(text[:most+1], '-'); i >= 0 {
		return text[:i]
	}
	return text[:most]
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
