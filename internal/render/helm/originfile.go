package helm

import (
	"cmp"
	"io/fs"
	"path"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
)

// origin is who says what is at a key of the values: the last one that does, as Helm lays them over each other.
func (b *build) origin(key []any) release.Origin {
	out := release.Origin{Key: keyText(key)}
	for _, v := range slices.Backward(b.request.Chart.Values) {
		if !b.saysKey(v, key) {
			continue
		}
		if line := b.lineOfKey(v.From, key); line > 0 {
			out.File, out.Line = v.From, line
			return out
		}
		out.From = cmp.Or(v.From, "spec.values")
		return out
	}
	for _, name := range slices.Backward(b.request.Chart.Files) {
		if line := b.lineOfKey(name, key); line > 0 {
			out.File, out.Line = name, line
			return out
		}
	}
	dir, rest := b.request.Path, key
	for len(rest) > 0 {
		name := path.Join(dir, "values.yaml")
		if line := b.lineOfKey(name, rest); line > 0 && (dir != b.request.Path || len(b.request.Chart.Files) == 0) {
			out.File, out.Line = name, line
			return out
		}
		below, _ := rest[0].(string)
		dir, rest = path.Join(dir, "charts", below), rest[1:]
	}
	out.From = "the chart"
	return out
}

// saysKey reports whether values say what is at a key: later ones with another value there have lost against them.
func (b *build) saysKey(v release.Values, key []any) bool {
	read, err := mergeValues([]release.Values{v})
	if err != nil {
		return false
	}
	said, there := valueAt(read, key)
	merged, _ := valueAt(b.values, key)
	return there && reflect.DeepEqual(said, merged)
}

// lineOfKey is the line of a file at which a key is; 0 where it is not there.
func (b *build) lineOfKey(file string, key []any) int {
	if !fs.ValidPath(file) {
		return 0
	}
	text, err := render.ReadFile(b.request.Files, file, b.request.Limits.FileBytes)
	if err != nil {
		return 0
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 {
		return 0
	}
	n := doc.Content[0]
	for _, step := range key {
		if n = render.FollowAlias(n); n == nil {
			return 0
		}
		switch s := step.(type) {
		case string:
			n = render.FieldNode(n, s)
		case int:
			if n.Kind != yaml.SequenceNode || s >= len(n.Content) {
				return 0
			}
			n = n.Content[s]
		}
	}
	if n == nil {
		return 0
	}
	return n.Line
}
