package generate

import (
	"errors"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/source/tree"
)

// merge returns the YAML of files, each over the ones before it, as Helm merges values files: maps key by key, all else as a whole.
func (t texts) merge(files ...tree.Entry) (tree.Entry, error) {
	var all map[string]any
	for _, e := range files {
		one, err := t.values(e)
		if err != nil {
			return tree.Entry{}, fmt.Errorf("merge %s: %w", e.Path, err)
		}
		all = mergeValues(all, one)
	}
	text, err := yaml.Marshal(all)
	return t.keep(text), err
}

// values reads a file that is a map. An empty one has no keys.
func (t texts) values(e tree.Entry) (map[string]any, error) {
	if e.Mode == tree.Link {
		return nil, errors.New("it is a link")
	}
	if e.Size > longestText {
		return nil, fmt.Errorf("it has %d bytes, more than %d", e.Size, longestText)
	}
	data, err := t.read(e)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if yaml.Unmarshal(data, &out) != nil { // the cause could hold what is in the file
		return nil, errNoMap
	}
	return out, nil
}

var errNoMap = errors.New("it is no YAML whose top is a map")

func mergeValues(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range over {
		a, isMap := out[k].(map[string]any)
		b, bothMaps := v.(map[string]any)
		if isMap && bothMaps {
			v = mergeValues(a, b)
		}
		out[k] = v
	}
	return out
}
