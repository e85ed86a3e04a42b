package appset

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/truce-gitops/truce/internal/render/gotemplate"
)

// filler puts parameters into texts: as {{name}}, or as Go's templates do where the set says so.
type filler struct {
	goTemplate bool
	options    []string
	templates  *gotemplate.Set
}

func newFiller(spec map[string]any) *filler {
	f := &filler{}
	if f.goTemplate, _ = spec["goTemplate"].(bool); f.goTemplate {
		f.templates = gotemplate.NewSet()
	}
	for _, o := range listValue(spec["goTemplateOptions"]) {
		f.options = append(f.options, textValue(o))
	}
	return f
}

// all returns a copy of a value with every text in it filled, names of fields too.
func (f *filler) all(v any, p parameters) (any, error) {
	return walkTexts(v, func(text string) (string, error) { return f.text(text, p) })
}

// generator fills the second generator of a matrix. A value that names what only that one gives stays as it is.
func (f *filler) generator(g map[string]any, p parameters) (map[string]any, error) {
	rest, values := overridden(nil, g), mapValue(g["values"])
	delete(rest, "values")
	filled, err := f.all(rest, p)
	if err != nil || len(values) == 0 {
		return mapValue(filled), err
	}
	strict := *f
	strict.options = append(strict.options[:len(strict.options):len(strict.options)], "missingkey=error")
	out := map[string]any{}
	for k, v := range values {
		text, err := strict.text(textValue(v), p)
		switch {
		case err == nil:
			out[k] = text
		case strings.Contains(err.Error(), "map has no entry for key") || strings.Contains(err.Error(), "can't evaluate field"):
			out[k] = v
		default:
			return nil, err
		}
	}
	mapValue(filled)["values"] = out
	return mapValue(filled), nil
}

func walkTexts(v any, put func(string) (string, error)) (any, error) {
	switch v := v.(type) {
	case string:
		return put(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, one := range v {
			key, err := put(k)
			if err != nil {
				return nil, err
			}
			if out[key], err = walkTexts(one, put); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			var err error
			if out[i], err = walkTexts(one, put); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func (f *filler) text(text string, p parameters) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	put := p.put
	if f.goTemplate {
		put = func(text string) (string, error) { return f.execute(text, p) }
	}
	out, err := put(text)
	if err != nil {
		return "", fmt.Errorf("its template %q: %w", shortenText(text), err)
	}
	return out, nil
}

func shortenText(text string) string {
	const shown = 120
	if r := []rune(text); len(r) > shown {
		return string(r[:shown]) + "…"
	}
	return text
}

var braces = regexp.MustCompile(`\{\{.*\}\}`)

// put fills a text. What is no parameter, or none that is a text, stays as it is (fasttemplate).
func (p parameters) put(text string) (string, error) {
	if !braces.MatchString(text) {
		return text, nil
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return "", errors.New("{{ without }}")
		}
		if value, known := p[strings.TrimSpace(name)].(string); known {
			b.WriteString(value)
		} else {
			b.WriteString("{{" + name + "}}")
		}
		text = after
	}
}

// execute runs a text as a Go template, on a copy of the parameters.
func (f *filler) execute(text string, p parameters) (string, error) {
	return f.templates.Execute(text, f.options, deepCopy(p))
}
