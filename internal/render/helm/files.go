package helm

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// withFiles returns the request for a chart with the texts of the values' files.
func withFiles(r render.Request) (*release.Request, error) {
	out := *r.Chart
	out.Values = nil
	f := valueFiles{request: r, seen: map[string]bool{}, named: map[string]bool{}}
	for _, v := range r.Chart.Values {
		if v.As == release.ValuesFile && !isPattern(v.File) {
			f.named[v.File] = true
		}
	}
	for _, v := range r.Chart.Values {
		read := []release.Values{v}
		var err error
		switch {
		case v.File == "": // its text is here already
		case v.As == release.ValuesFile:
			read, err = f.values(v)
		case v.As == release.FileContent:
			read[0].Text, err = f.text(v.File)
		}
		if err != nil {
			return nil, err
		}
		out.Values = append(out.Values, read...)
	}
	return &out, nil
}

// valueFiles reads files of values, each once: at the place where it is named, else where the first pattern finds it.
type valueFiles struct {
	request     render.Request
	seen, named map[string]bool
}

func (f valueFiles) values(v release.Values) ([]release.Values, error) {
	names := []string{v.File}
	if isPattern(v.File) {
		found, err := matchFiles(f.request.Files, v.File)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.From, err)
		}
		if len(found) == 0 && !v.Optional {
			return nil, fmt.Errorf("%s: values file glob %q matched no files", v.From, v.File)
		}
		names = slices.DeleteFunc(found, func(name string) bool { return f.named[name] })
	}
	var out []release.Values
	for _, name := range names {
		if f.seen[name] {
			continue
		}
		f.seen[name] = true
		text, err := f.text(name)
		if v.Optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.From, err)
		}
		out = append(out, release.Values{Text: text, From: name})
	}
	return out, nil
}

func (f valueFiles) text(name string) (string, error) {
	text, err := render.ReadFile(f.request.Files, name, f.request.Limits.FileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not in this revision: %w", name, fs.ErrNotExist)
	}
	return string(text), err
}

// isPattern reports whether a name stands for several files (reposerver/repository of argo-cd, isGlobPath). The address of one never does.
func isPattern(name string) bool {
	return strings.ContainsAny(name, "*?[") && !strings.HasPrefix(name, upstream.Directory+"/")
}

// matchFiles returns the files that a pattern matches: of each directory first its own in their order, then those below it.
func matchFiles(files fs.FS, pattern string) ([]string, error) {
	parts := strings.Split(path.Clean(pattern), "/")
	first := slices.IndexFunc(parts, isPattern)
	if first < 0 { // "*/.." is no pattern when it is cleaned
		return nil, nil
	}
	m := matching{files: files, pattern: parts[first:], deep: slices.Contains(parts, "**")}
	err := m.directory(path.Join(parts[:first]...), nil)
	return m.found, err
}

// matching finds the files below a directory that a pattern matches.
type matching struct {
	files   fs.FS
	pattern []string
	deep    bool // any directories stand for a part of it
	found   []string
}

func (m *matching) directory(dir string, below []string) error {
	entries, err := fs.ReadDir(m.files, path.Join(".", dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := m.file(path.Join(dir, e.Name()), append(slices.Clip(below), e.Name())); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if !e.IsDir() || !m.deep && len(below)+1 >= len(m.pattern) {
			continue
		}
		if err := m.directory(path.Join(dir, e.Name()), append(slices.Clip(below), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (m *matching) file(name string, below []string) error {
	fits, err := fitsPath(m.pattern, below)
	if err != nil || !fits {
		return err
	}
	info, err := fs.Stat(m.files, name)
	if err == nil && !info.IsDir() {
		m.found = append(m.found, name)
	}
	return err
}

// fitsPath matches the parts of a path. It takes as many steps as there are parts of both, for each "**".
func fitsPath(pattern, parts []string) (bool, error) {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0, nil
	case pattern[0] == "**":
		for n := range len(parts) + 1 {
			if fits, err := fitsPath(pattern[1:], parts[n:]); fits || err != nil {
				return fits, err
			}
		}
		return false, nil
	case len(parts) == 0:
		return false, nil
	}
	fits, err := fitsName(pattern[0], parts[0])
	if err != nil || !fits {
		return false, err
	}
	return fitsPath(pattern[1:], parts[1:])
}

// fitsName matches one name; "{a,b}" lists alternatives.
func fitsName(pattern, name string) (bool, error) {
	before, rest, found := strings.Cut(pattern, "{")
	if !found {
		return path.Match(pattern, name)
	}
	inner, after, closed := strings.Cut(rest, "}")
	if !closed {
		return false, fmt.Errorf("pattern %s is not closed", pattern)
	}
	for one := range strings.SplitSeq(inner, ",") {
		if fits, err := fitsName(before+one+after, name); fits || err != nil {
			return fits, err
		}
	}
	return false, nil
}
