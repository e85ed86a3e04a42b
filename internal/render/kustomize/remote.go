package kustomize

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// moved are the entries of one kustomization that name a repository, and where its files are instead, from the kustomization's directory.
type moved struct {
	file    string
	entries map[string]string
}

// remote resolves an entry that names a directory of a repository or a single file: to what the tree holds of it, if it holds any. Nothing is
// fetched here.
func (s *inputCheck) remote(v visit, n *yaml.Node) (string, fs.FileInfo, error) {
	shown := redact.MaskText(n.Value)
	_, offered := fs.Stat(s.files.tree, upstream.Directory)
	if errors.Is(offered, fs.ErrNotExist) {
		return "", nil, s.refuse(v, n)
	}
	a, err := upstream.ParseAddress(n.Value)
	if err == nil {
		err = offered
	}
	if err == nil && a.Local() && upstream.RepositoryRoot(v.dir) != "" {
		err = errors.New("a repository from elsewhere names one of this machine")
	}
	if err != nil {
		return "", nil, s.fail(v.file, n, "%s: %w", shown, err)
	}
	info, err := fs.Stat(s.files.tree, a.Name())
	switch {
	case errors.Is(err, fs.ErrNotExist) && !a.File:
		return "", nil, s.fail(v.file, n, "%s: %s has no directory %s", shown, a, a.Dir)
	case err != nil:
		return "", nil, s.fail(v.file, n, "%s: %w", shown, err)
	case a.File:
	case !info.IsDir():
		return "", nil, s.fail(v.file, n, "%s: %s is a file there, want a directory with a kustomization", shown, a.Dir)
	}
	if s.moved[v.dir].entries == nil {
		s.moved[v.dir] = moved{v.file, map[string]string{}}
	}
	s.moved[v.dir].entries[n.Value] = relativeDir(v.dir, a.Name())
	return a.Name(), info, nil
}

// remoteFile resolves an entry that must be a file, as Kustomize gets it where it reads any: patches, configurations, replacements.
func (s *inputCheck) remoteFile(v visit, n *yaml.Node) (string, fs.FileInfo, error) {
	a, err := upstream.ParseAddress(n.Value)
	if err != nil || !a.File {
		return "", nil, s.refuse(v, n)
	}
	return s.remote(v, n)
}

func (s *inputCheck) refuse(v visit, n *yaml.Node) error {
	return s.fail(v.file, n, "%s: remote files are refused; copy them into the source or make them a source of their own", redact.MaskText(n.Value))
}

// relativeDir is the way from a directory to a path of the tree, in a form that Kustomize takes for no address.
func relativeDir(dir, name string) string {
	if dir == "." {
		return "./" + name
	}
	return strings.Repeat("../", strings.Count(dir, "/")+1) + name
}

// layBases puts kustomizations over those in the tree that name repositories or charts, with where their files are instead.
func (s *inputCheck) layBases(b *build) error {
	files := map[string]string{}
	for dir, m := range s.moved {
		files[dir] = m.file
	}
	if s.inflation != nil {
		for dir, c := range s.inflation.done {
			files[dir] = c.file
		}
	}
	delete(files, b.request.Path) // it is laid with what the request edits in it
	for dir, file := range files {
		data, err := b.files.ReadFile(mountPath(file))
		if err != nil {
			return err
		}
		k, err := newRoot(file, data, strictFields)
		if err != nil {
			return err
		}
		k.lead(s.moved[dir])
		k.takeCharts(s.inflation, dir)
		if b.files.over[file], err = k.bytes(); err != nil {
			return err
		}
	}
	return nil
}

// lead replaces entries that name what is elsewhere: in lists, and in lists of what has a path.
func (k *root) lead(m moved) {
	for _, key := range []string{
		"resources", "bases", "components", "generators", "transformers", "validators", "crds", "configurations", "patchesStrategicMerge",
		"patches", "patchesJson6902", "replacements",
	} {
		list, _ := k.fields[key].([]any)
		for i, e := range list {
			list[i] = m.replace(e)
		}
	}
	k.leadGenerators(m)
}

// leadGenerators replaces the addresses of single files in generators.
func (k *root) leadGenerators(m moved) {
	for _, key := range []string{"configMapGenerator", "secretGenerator"} {
		list, _ := k.fields[key].([]any)
		for _, e := range list {
			generator, _ := e.(map[string]any)
			m.leadFiles(generator)
		}
	}
}

// leadFiles replaces them in one generator. A file keeps the key that Kustomize gives it: the last part of its address.
func (m moved) leadFiles(generator map[string]any) {
	files, _ := generator["files"].([]any)
	for i, f := range files {
		text, _ := f.(string)
		if name, address := namedFile(text); m.entries[address] != "" {
			files[i] = name + "=" + m.entries[address]
		}
	}
	envs, _ := generator["envs"].([]any)
	for i, f := range envs {
		envs[i] = m.replace(f)
	}
}

// namedFile splits an entry of a generator's files into its key and its file.
func namedFile(entry string) (key, file string) {
	key, file, named := strings.Cut(entry, "=")
	if !named || upstream.IsRemote(entry) {
		address, _, _ := strings.Cut(entry, "#")
		return path.Base(address), entry
	}
	return key, file
}

// replace is an entry of such a list with where it leads.
func (m moved) replace(entry any) any {
	switch e := entry.(type) {
	case string:
		return m.lead(e)
	case map[string]any:
		if name, ok := e["path"].(string); ok {
			e["path"] = m.lead(name)
		}
	}
	return entry
}

func (m moved) lead(entry string) string { return cmp.Or(m.entries[entry], entry) }
