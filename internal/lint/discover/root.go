package discover

import (
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/render"
)

// roots are the directories with a kustomization file, and what they build on. The builder reports what is wrong in them.
type roots struct {
	files fs.FS
	all   []*root
	at    map[string]*root
	// named are all paths that any of the kustomizations names, for whatever use.
	named map[string]bool
}

type root struct {
	dir, file string
	component bool // kind: Component: it changes what others build, and builds nothing
	on        []string
	included  bool // another one builds on it
}

func newRoots(files fs.FS, dirs []*directory) *roots {
	r := &roots{files: files, at: map[string]*root{}, named: map[string]bool{}}
	for _, d := range dirs {
		if d.file == "" {
			continue
		}
		one := &root{dir: d.path, file: d.file}
		if !r.look(one) {
			d.manifests, d.file = append(d.manifests, d.file), ""
			continue
		}
		r.all = append(r.all, one)
		r.at[d.path] = one
	}
	for _, one := range r.all {
		for _, dir := range one.on {
			if other := r.at[dir]; other != nil {
				other.included = true
			}
		}
	}
	return r
}

// look reads a kustomization file. It reports false for what only has such a name, as people call the file of a Flux Kustomization.
func (r *roots) look(one *root) bool {
	data, err := render.ReadFile(r.files, one.file, render.Limits{}.OrDefault().FileBytes)
	if err != nil {
		return true
	}
	nodes, err := render.ParseNodes(one.file, data)
	if err != nil || len(nodes) != 1 {
		return true
	}
	top := nodes[0]
	if version := render.FieldNode(top, "apiVersion"); version != nil && !strings.HasPrefix(version.Value, "kustomize.config.k8s.io/") {
		return false
	}
	if kind := render.FieldNode(top, "kind"); kind != nil {
		one.component = kind.Value == "Component"
	}
	for _, key := range []string{"resources", "bases", "components"} {
		one.builds(render.FieldNode(top, key))
	}
	r.names(one.dir, top)
	return true
}

// builds notes the directories of a list.
func (one *root) builds(list *yaml.Node) {
	if list == nil {
		return
	}
	for _, n := range list.Content {
		if dir, ok := pathInTree(one.dir, render.FollowAlias(n).Value); ok {
			one.on = append(one.on, dir)
		}
	}
}

// names notes every text that may be a path. The nodes of a file are a tree: aliases are not followed.
func (r *roots) names(dir string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") {
		text := n.Value
		if _, file, ok := strings.Cut(text, "="); ok {
			text = file
		}
		if name, ok := pathInTree(dir, text); ok {
			r.named[name] = true
		}
	}
	for _, child := range n.Content {
		r.names(dir, child)
	}
}

// pathInTree is where an entry leads that is written in a directory; false where that is not inside the tree.
func pathInTree(dir, entry string) (string, bool) {
	name := path.Join(dir, entry)
	return name, entry != "" && !path.IsAbs(entry) && fs.ValidPath(name)
}

// entries are the roots that stand for themselves: no other one builds on them. Of a circle it is the first.
func (r *roots) entries() []*root {
	reached := map[string]bool{}
	var out []*root
	for _, one := range r.all {
		if !one.included {
			out = append(out, one)
			r.reach(one, reached)
		}
	}
	for _, one := range r.all {
		if !reached[one.dir] {
			out = append(out, one)
			r.reach(one, reached)
		}
	}
	return out
}

func (r *roots) reach(one *root, reached map[string]bool) {
	if one == nil || reached[one.dir] {
		return
	}
	reached[one.dir] = true
	for _, dir := range one.on {
		r.reach(r.at[dir], reached)
	}
}
