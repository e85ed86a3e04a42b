package discover

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/yamltext"
	"github.com/truce-gitops/truce/internal/render"
)

// asideNames are directories that hold nothing to deploy by a common convention; those whose names begin with a dot are others.
var asideNames = []string{"archive", "archived", "_archive", "_archived", "testdata"}

// isAside reports whether apps are not looked for in a directory. One that an app reads is read all the same.
func (s *scan) isAside(dir string) bool {
	base := path.Base(dir)
	if !strings.HasPrefix(base, ".") && !slices.Contains(asideNames, base) {
		return false
	}
	asked := s.asked + "/"
	return s.asked == "" || !strings.HasPrefix(asked, dir+"/") && !strings.HasPrefix(dir+"/", asked)
}

// aside notes a directory that is not looked into, if it holds a file that may describe objects.
func (s *scan) aside(dir string) {
	found := fs.SkipAll
	err := fs.WalkDir(s.files, dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case s.ignored[name] && e.IsDir():
			return fs.SkipDir
		case !e.IsDir() && mayHold(name) && !s.ignored[name] && describes(s.files, name):
			found = nil
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case err != nil:
		s.skip(dir, "directory", err)
	case found == nil:
		s.asides = append(s.asides, dir)
	}
}

func describes(files fs.FS, name string) bool {
	data, err := render.ReadFile(files, name, render.Limits{}.OrDefault().FileBytes)
	if err == nil {
		data, err = yamltext.ManifestText(data)
	}
	return err == nil && ofObjects(data)
}

// ofObjects reports whether a file speaks of Kubernetes objects.
func ofObjects(data []byte) bool {
	return bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind")) && !isBaseline(data)
}

var baselineVersion = regexp.MustCompile(`(?m)^apiVersion: *["']?audit\.truce\.dev/`)

// isBaseline reports whether a file is a baseline of truce audit (lint/baseline), which a team keeps in the repository: it is one document.
func isBaseline(data []byte) bool {
	return baselineVersion.Match(data) && !bytes.Contains(data, []byte("\n---"))
}

// templateMark is of Go templates, Jinja, ERB, and names between percent signs.
var templateMark = regexp.MustCompile(`\{\{|\{%|<%|%[A-Z_]+%`)

// isTemplate reports whether a file that is no YAML is one that another program fills in first.
func isTemplate(data []byte) bool { return templateMark.Match(data) }
