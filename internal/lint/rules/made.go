package rules

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// found is how far the steps to a field lead.
type found struct {
	node  *yaml.Node // what stands there
	depth int        // how many steps there were
	place desired.Place
	text  *inText // that it stands in; nil for the file itself
}

// inText is YAML in a value of a file: a templatePatch, elementsYaml.
type inText struct {
	scalar *yaml.Node
	lines  []string // as they are written, with templates
}

// descend follows the steps as long as there is something at the next one.
func (from found) descend(at []string) found {
	for _, step := range at {
		if from.node.Kind == yaml.ScalarNode && from.text == nil {
			from = from.opened()
		}
		key, value := childNode(from.node, step)
		if value == nil {
			return from
		}
		from.node, from.depth = value, from.depth+1
		from.move(key)
	}
	return from
}

// move goes to a node. Only in a literal block do lines correspond to those of the file, and columns nowhere (files.atText).
func (from *found) move(to *yaml.Node) {
	switch {
	case from.text == nil:
		from.place.Line, from.place.Column = to.Line, to.Column
	case from.text.scalar.Style&yaml.LiteralStyle != 0:
		from.place.Line, from.place.Column = from.text.scalar.Line+to.Line, 0
	}
}

// opened is the YAML of a text, if it can be read as such.
func (from found) opened() found {
	docs, err := render.ParseNodes("", []byte(withoutTemplates(from.node.Value)))
	if err != nil || len(docs) == 0 {
		return from
	}
	from.text = &inText{scalar: from.node, lines: strings.Split(from.node.Value, "\n")}
	from.node = docs[0]
	return from
}

var (
	braced    = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	notBreaks = regexp.MustCompile(`[^\n]`)
)

// withoutTemplates has something plain of the same length instead of each template, and nothing for lines that hold only templates, so that
// all else stands where it stood.
func withoutTemplates(text string) string {
	plain := braced.ReplaceAllStringFunc(text, func(one string) string { return notBreaks.ReplaceAllString(one, "\x00") })
	lines := strings.Split(plain, "\n")
	for i, line := range lines {
		if strings.Trim(line, " \t\r\x00") == "" {
			lines[i] = ""
		}
		lines[i] = strings.ReplaceAll(lines[i], "\x00", "x")
	}
	return strings.Join(lines, "\n")
}

var onlyParameter = regexp.MustCompile(`^\{\{-?\s*\.?([A-Za-z_][^\s|{}]*)\s*(\|[^{}]*)?-?\}\}$`)

// parameter is the name of the one parameter that the value consists of; empty where it says something itself.
func (from found) parameter() string {
	if from.node.Kind != yaml.ScalarNode {
		return ""
	}
	value := from.node.Value
	if from.text != nil {
		line := []rune(from.text.lines[min(from.node.Line, len(from.text.lines))-1])
		value = strings.Trim(string(line[min(from.node.Column-1, len(line)):]), " \t\r'\"")
	}
	if m := onlyParameter.FindStringSubmatch(value); m != nil {
		return m[1]
	}
	return ""
}

// made is where a custom resource that another one makes says something: in the template that says it, or where the parameter gets its value
// that the template names. Where none of the templates says it, it is the nearest around it.
func (f *files) made(u *discover.Unit, maker found, at []string) desired.Place {
	best := maker
	best.depth = -1
	for _, template := range u.Made.Templates {
		top := fieldSteps(template)
		in := maker.descend(top)
		if in.depth < len(top) {
			continue
		}
		in.depth = 0
		got := in.descend(at)
		if got.depth >= best.depth {
			best = got
		}
		if got.depth == len(at) {
			break
		}
	}
	const mostTemplates = 4 // that lead from one to the next
	for range mostTemplates {
		next, ok := f.given(u, maker, best.parameter())
		if best.depth < len(at) || !ok {
			break
		}
		best.node, best.text, best.place = next.node, next.text, next.place
	}
	return f.atText(best.place)
}

// given is where a parameter of the app that has the name gets its value.
func (f *files) given(u *discover.Unit, maker found, name string) (found, bool) {
	if name == "" {
		return found{}, false
	}
	for _, spot := range u.Made.Parameters {
		rest := name
		if spot.Name != "" {
			var below bool
			if rest, below = strings.CutPrefix(name, spot.Name+"."); !below {
				continue
			}
		}
		from := maker
		if spot.File != "" {
			docs := f.nodes(spot.File)
			if len(docs) == 0 {
				continue
			}
			from = found{node: docs[0], place: desired.Place{File: spot.File, Line: docs[0].Line, Column: docs[0].Column, Means: maker.place.Means}}
		}
		from.depth = 0
		all := append(fieldSteps(spot.At), fieldSteps(rest)...)
		if got := from.descend(all); got.depth == len(all) {
			return got, true
		}
	}
	return found{}, false
}
