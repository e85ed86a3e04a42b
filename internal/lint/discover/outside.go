package discover

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

// outside is a directory that holds files of another repository where apps are read, and not here.
type outside struct {
	Skipped

	dir string
	why string // follows the name of the directory
	// module says that it is a submodule.
	module bool
}

// outsides are those in the files that an app is read from.
func (t *finder) outsides(a app.App) []outside {
	return append(t.includes(a), t.scan.modules...)
}

// includes are the directories in which the GitRepository of an app puts files of others.
func (t *finder) includes(a app.App) []outside {
	var out []outside
	if a.Source.Kind != gitRepository {
		return nil
	}
	for _, d := range t.repositories[sourceName(a.Source)] {
		list, _ := d.object.At("spec", "include").([]any)
		for _, entry := range list {
			m, _ := entry.(map[string]any)
			name, _ := object.Object(m).At("repository", "name").(string)
			to, _ := m["toPath"].(string)
			if name == "" {
				continue
			}
			other := gitRepository + " " + d.object.Namespace() + "/" + name
			one := outside{dir: path.Clean(strings.TrimLeft(cmp.Or(to, name), "/")), why: "where " + a.Source.String() + " includes files of " + other}
			one.Skipped = Skipped{
				File: d.file, Line: d.line, What: a.Source.String() + " spec.include",
				Why: "the files of " + other + ", which it includes at " + one.dir + ", are not looked into", Reason: "files that a GitRepository includes are not looked into",
			}
			out = append(out, one)
		}
	}
	return out
}

// modulesFile names the submodules of a repository.
const modulesFile = ".gitmodules"

// submodules are those of the repository whose files are not in the tree.
func submodules(files fs.FS) []outside {
	data, err := render.ReadFile(files, modulesFile, render.Limits{}.OrDefault().FileBytes)
	if err != nil {
		return nil
	}
	var out []outside
	for i, line := range strings.Split(string(data), "\n") {
		key, dir, _ := strings.Cut(line, "=")
		dir = path.Clean(strings.Trim(strings.TrimSpace(dir), `"`))
		if strings.TrimSpace(key) != "path" || !fs.ValidPath(dir) || dir == "." {
			continue
		}
		if entries, err := fs.ReadDir(files, dir); err == nil && len(entries) > 0 {
			continue
		}
		const why = "it is not checked out, and not looked into: git submodule update --init "
		out = append(out, submodule(dir, Skipped{File: modulesFile, Line: i + 1, Why: why + dir}))
	}
	return out
}

// uncommitted is a submodule as a commit has it, without files.
func uncommitted(dir string) outside {
	return submodule(dir, Skipped{File: dir, Why: "its files are in no commit of this repository, and not looked into: audit a working tree in which it is checked out"})
}

func submodule(dir string, s Skipped) outside {
	s.What, s.Reason = "submodule "+dir, "submodules that are not checked out are not looked into"
	return outside{Skipped: s, dir: dir, why: "a submodule that is not checked out", module: true}
}

func (s *scan) isModule(name string) bool {
	return slices.ContainsFunc(s.modules, func(o outside) bool { return o.dir == name })
}

// outside says that an app is read at a directory that is not here; the zero Skipped where it is.
func (t *finder) outside(w *wanted, left Skipped) Skipped {
	for _, o := range t.outsides(w.unit.App) {
		at := w.unit.App.Path
		if isBelow(at, o.dir) && (o.module || !t.isDirectory(at)) {
			left.Why, left.Reason = "is read at "+at+", "+o.why, "is read from files of another repository"
			return left
		}
	}
	return Skipped{}
}

// missed is the directory that an error names, and that is not here; nil for none.
func (t *finder) missed(u Unit, why string) *outside {
	for _, o := range t.outsides(u.App) {
		if strings.Contains(why, path.Base(o.dir)) {
			return &o
		}
	}
	return nil
}

func isBelow(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
