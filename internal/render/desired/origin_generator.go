package desired

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/render"
)

// generator notes where a generated ConfigMap's or Secret's key comes from: a literal, or the file of that name.
func (t *trail) generator(dir, file string, k *yaml.Node) {
	key := ""
	if top := lastName(t.path[:1]); len(t.path) == 2 && (top == "data" || top == "stringData" || top == "binaryData") {
		key = lastName(t.path)
	}
	for _, list := range []string{"configMapGenerator", "secretGenerator"} {
		for _, entry := range entries(k, list) {
			if entry.Line == t.object.Line {
				t.first = scalarText(entry, "name")
				t.literals(file, entry, key)
				t.contents(dir, entry, key)
			}
		}
	}
}

func (t *trail) literals(file string, entry *yaml.Node, key string) {
	for _, n := range entries(entry, "literals") {
		if name, value, ok := strings.Cut(n.Value, "="); ok && key != "" && name == key {
			t.add(file, n, ByGenerator, strings.Trim(value, `"'`))
		}
	}
}

func (t *trail) contents(dir string, entry *yaml.Node, key string) {
	for _, n := range entries(entry, "files") {
		name, file, ok := strings.Cut(n.Value, "=")
		if !ok {
			name, file = path.Base(n.Value), n.Value
		}
		if name != key {
			continue
		}
		file = path.Join(dir, file)
		if data, err := render.ReadFile(t.files, file, maxFile); err == nil {
			t.add(file, &yaml.Node{Line: 1, Column: 1}, ByGenerator, string(data))
		}
	}
}
