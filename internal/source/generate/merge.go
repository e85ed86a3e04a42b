package generate

import (
	"errors"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/source/tree"
)

// merge returns the YAML of a file with that of another over it, as Helm merges values files: maps key by key, all else as a whole.
func (c *copying) merge(under, over tree.Entry) ([]byte, error) {
	a, err := c.values(under)
	if err != nil {
		return nil, err
	}
	b, err := c.values(over)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(mergeValues(a, b))
}

// values reads a file that is a map. An empty one has no keys.
func (c *copying) values(e tree.Entry) (map[string]any, error) {
	if e.Mode == tree.Link {
		return nil, fmt.Errorf("merge %s: it is a link", e.Path)
	}
	if e.Size > longestText {
		return nil, fmt.Errorf("merge %s: it has %d bytes, more than %d", e.Path, e.Size, longestText)
	}
	data, err := c.read(e)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if yaml.Unmarshal(data, &out) != nil { // the cause could hold what is in the file
		return nil, fmt.Errorf("merge %s: %w", e.Path, errNoMap)
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
