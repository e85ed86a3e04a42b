package discover

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
)

// MayRead returns which files rendering the unit may read. It is for a unit that has no Reads since it could not be rendered, and rather
// names a file too many: all that its kustomizations and those below them name, and all of a directory without a kustomization.
func (u Unit) MayRead(files fs.FS) func(name string) bool {
	r := &reachable{files: files, named: map[string]bool{}}
	if u.App.Release == nil || u.App.Path != "" {
		for _, dir := range u.Paths() {
			r.reach(dir)
		}
	}
	for _, s := range u.eachSource() {
		for _, dir := range s.Overlay.Components {
			r.reach(path.Join(s.Path, dir))
		}
	}
	for _, name := range u.valuesFiles() {
		r.reach(name)
	}
	return r.holds
}

// valuesFiles are the files with values that the unit's charts name.
func (u Unit) valuesFiles() []string {
	charts := []*release.Request{u.Chart}
	for _, p := range u.App.Parts {
		charts = append(charts, p.Chart)
	}
	var out []string
	for _, c := range charts {
		if c == nil {
			continue
		}
		for _, v := range c.Values {
			if v.File != "" {
				out = append(out, v.File)
			}
		}
		out = append(out, c.Files...)
	}
	return out
}

// reachable is what a unit may read.
type reachable struct {
	files fs.FS
	named map[string]bool // files and directories
	whole []string        // directories of which every file may be read
}

func (r *reachable) holds(name string) bool {
	return r.named[name] || slices.ContainsFunc(r.whole, func(dir string) bool { return dir == "." || isBelow(name, dir) })
}

// reach notes a file or a directory, and what the kustomization of the directory names.
func (r *reachable) reach(name string) {
	if r.named[name] {
		return
	}
	r.named[name] = true
	if info, err := fs.Stat(r.files, name); err != nil || !info.IsDir() {
		return
	}
	nodes := r.kustomization(name)
	for _, n := range nodes {
		r.texts(name, n)
	}
	if nodes == nil {
		r.reachAll(name)
	}
}

// reachAll notes all of a directory, and what the kustomizations in it name.
func (r *reachable) reachAll(dir string) {
	r.whole = append(r.whole, dir)
	_, roots, _ := render.Collect(r.files, dir) // every file of the directory is noted, whatever could not be read
	for _, root := range roots {
		r.reach(root)
	}
}

// kustomization returns the documents of a directory's kustomization file; none where it has none that can be read.
func (r *reachable) kustomization(dir string) []*yaml.Node {
	file, err := render.KustomizationFile(r.files, dir)
	if err != nil || file == "" {
		return nil
	}
	r.named[file] = true
	data, err := render.ReadFile(r.files, file, render.Limits{}.OrDefault().FileBytes)
	if err != nil {
		return nil
	}
	nodes, err := render.ParseNodes(file, data)
	if err != nil {
		return nil
	}
	return nodes
}

// texts reaches every text that may be a path. The nodes of a file are a tree: aliases are not followed, their anchors are seen.
func (r *reachable) texts(dir string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") {
		text := n.Value
		if _, file, ok := strings.Cut(text, "="); ok {
			text = file
		}
		if name, ok := pathInTree(dir, text); ok {
			r.reach(name)
		}
	}
	for _, child := range n.Content {
		r.texts(dir, child)
	}
}
