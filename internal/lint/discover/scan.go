package discover

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/render"
)

// chartFile makes a directory a Helm chart.
const chartFile = "Chart.yaml"

// chartOnly are the directories of a chart that hold nothing which could be read without Helm.
var chartOnly = []string{"templates", "charts", "crds"}

// scan walks the tree once, and keeps what may matter.
type scan struct {
	files   fs.FS
	ignored map[string]bool
	asked   string // a directory that is looked into whatever its name is; empty for none

	dirs    []*directory // in order of path
	charts  []string
	asides  []string  // directories in which apps are not looked for
	modules []outside // submodules whose files are not here
	skipped []Skipped
}

// directory is one of the tree with a file that may hold objects.
type directory struct {
	path      string
	file      string   // its kustomization file, empty for none
	manifests []string // paths of the other YAML and JSON files
}

func (s *scan) skip(file, what string, err error) {
	s.skipped = append(s.skipped, Skipped{File: file, What: what, Broken: true, Why: plainly(err).Error()})
}

func (s *scan) walk(dir string) {
	entries, err := fs.ReadDir(s.files, dir)
	if err != nil {
		s.skip(dir, "directory", err)
		return
	}
	d := &directory{path: dir}
	chart := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == chartFile && !e.IsDir() })
	if chart {
		s.charts = append(s.charts, dir)
	}
	var below []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case s.ignored[name], e.Name() == ".git", s.isModule(name), chart && slices.Contains(chartOnly, e.Name()):
		case e.Type()&fs.ModeIrregular != 0: // as trees of git show it (source/tree)
			s.modules = append(s.modules, uncommitted(name))
		case e.IsDir() && s.isAside(name):
			s.aside(name)
		case e.IsDir():
			below = append(below, name)
		default:
			s.file(d, name, e)
		}
	}
	if d.file != "" || len(d.manifests) > 0 {
		s.dirs = append(s.dirs, d)
	}
	for _, name := range below {
		s.walk(name)
	}
}

func (s *scan) file(d *directory, name string, e fs.DirEntry) {
	if e.Type()&fs.ModeSymlink != 0 {
		s.link(d, name)
		return
	}
	switch {
	case !mayHold(name):
	case !e.Type().IsRegular():
		s.skip(name, fileWhat, errors.New("neither a file nor a directory"))
	case slices.Contains(kustomizationNames, e.Name()):
		d.file = name
	default:
		d.manifests = append(d.manifests, name)
	}
}

// link follows a link to a file inside the tree as renderers do. What a link to a directory leads to is found where it lies.
func (s *scan) link(d *directory, name string) {
	info, err := fs.Stat(s.files, name)
	switch {
	case err != nil:
		s.skipped = append(s.skipped, Skipped{
			File: name, What: "link", Broken: mayHold(name) || path.Ext(name) == "", Why: "it leads to nothing inside the tree: " + plainly(err).Error(),
		})
	case info.IsDir():
	case slices.Contains(kustomizationNames, path.Base(name)):
		d.file = name
	case mayHold(name):
		d.manifests = append(d.manifests, name)
	}
}

// kustomizationNames are those that Kustomize looks for (sigs.k8s.io/kustomize/api/konfig).
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// mayHold reports whether the name is one of a file that can describe objects.
func mayHold(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(name))) || path.Base(name) == "Kustomization"
}

// plainly takes the operation and the path out of an error that is reported beside its path.
func plainly(err error) error {
	var at *fs.PathError
	var in *render.Error
	switch {
	case errors.As(err, &in):
		return in.Err
	case errors.As(err, &at):
		return at.Err
	}
	return err
}

// inOrder is the order of places.
func inOrder(a, b Skipped) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What), cmp.Compare(a.Why, b.Why))
}

// visible are the files of the tree that are part of the repository, for who walks it.
type visible struct {
	fs.FS
	ignored map[string]bool
}

// ReadDir leaves out what is ignored.
func (v visible) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(v.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return v.ignored[path.Join(name, e.Name())] }), err
}
