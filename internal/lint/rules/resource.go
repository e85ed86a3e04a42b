package rules

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// said is where a unit's custom resource says something: spec.ignoreDifferences[0].kind. Where it does not say it, the nearest around it.
func (f *files) said(u *discover.Unit, at string) desired.Place {
	place := desired.Place{File: u.File, Line: u.Line, Means: desired.ByManifest}
	for _, doc := range f.nodes(u.File) {
		n := beginning(doc, u.Line)
		if n == nil {
			continue
		}
		place.Column = n.Column
		whole := found{node: n, place: place}
		if u.Made != nil {
			return f.made(u, whole, fieldSteps(at))
		}
		return whole.descend(fieldSteps(at)).place
	}
	return place
}

// childNode is what stands below a key or at a position, and the node at which a person looks for it.
func childNode(n *yaml.Node, step string) (key, value *yaml.Node) {
	n = render.FollowAlias(n)
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i], render.FollowAlias(n.Content[i+1])
			}
		}
	}
	if i, err := strconv.Atoi(step); n.Kind == yaml.SequenceNode && err == nil && i >= 0 && i < len(n.Content) {
		return n.Content[i], render.FollowAlias(n.Content[i])
	}
	return nil, nil
}

// fieldSteps cuts the name of a field of a custom resource at its dots and brackets: spec.patches[0].patch, metadata.annotations["a.b/c"]. What
// dialects call "annotation KEY" is one of metadata.annotations.
func fieldSteps(at string) []string {
	if key, ok := strings.CutPrefix(at, "annotation "); ok {
		key, _, _ = strings.Cut(key, "[")
		return []string{"metadata", "annotations", key}
	}
	var out []string
	for at != "" {
		var step string
		if rest, ok := strings.CutPrefix(at, "["); ok {
			step, at, _ = strings.Cut(rest, "]")
			out = append(out, strings.Trim(step, `"`))
			at = strings.TrimPrefix(at, ".")
			continue
		}
		end := strings.IndexAny(at, ".[")
		if end < 0 {
			end = len(at)
		}
		step, at = at[:end], strings.TrimPrefix(at[end:], ".")
		out = append(out, step)
	}
	return out
}

// places are all places that give a field of an object a value, in the order in which they are applied, and which of them wins (-1 for
// none). Those in the unit's custom resource are found in its file.
func (f *files) places(d described) func(path field.Path) (all []desired.Place, wins int) {
	origins := f.origins(*d.unit, *d.object)
	return func(path field.Path) ([]desired.Place, int) {
		all := origins(path)
		wins := desired.WinningPlace(all)
		for i, p := range all {
			switch {
			case p.Means == desired.ByValues: // at the key already
				all[i] = f.atText(p)
				continue
			case p.Field == "":
				all[i] = f.atText(f.atKey(p))
				continue
			}
			name := strings.TrimPrefix(p.Field, d.unit.App.Key.String()+" ")
			if p.Means == desired.ByReplicas {
				name += ".count"
			}
			at := f.said(d.unit, name)
			at.Means, at.Exact = p.Means, p.Exact
			all[i] = at
		}
		return all, wins
	}
}

// atText completes a place inside a text in place, of which only the line is known, with where the line's text begins.
func (f *files) atText(p desired.Place) desired.Place {
	if p.Column > 0 || p.File == "" {
		return p
	}
	data, err := render.ReadFile(f.survey.Files, p.File, maxFile)
	if err != nil {
		return p
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if n++; n == p.Line {
			p.Column = len(line) - len(strings.TrimLeft(line, " -")) + 1
			return p
		}
	}
	return p
}
