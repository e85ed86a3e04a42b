package appset

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render"
)

// maxFile bounds a file of parameters.
const maxFile = 1 << 20

// repository is the one that the set stands in. It is walked once.
type repository struct {
	files  fs.FS
	here   discover.Addresses
	walked bool
	dirs   []string // without those whose name begins with a dot, and what is below them
	all    []string // files
}

func (r *repository) walk() error {
	if r.walked {
		return nil
	}
	r.walked = true
	hidden := "/"
	return fs.WalkDir(r.files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case !d.IsDir():
			r.all = append(r.all, name)
		case d.Name() == ".git":
			return fs.SkipDir
		case strings.HasPrefix(name, hidden):
		case strings.HasPrefix(d.Name(), "."):
			hidden = name + "/"
		default:
			r.dirs = append(r.dirs, name)
		}
		return nil
	})
}

// git are the parameters of directories or files of this repository.
func (m *maker) git(a asked) ([]given, error) {
	g := a.generator
	if !m.reads(a) {
		return nil, fmt.Errorf("its git generator reads %s, another repository than its Applications", textValue(g["repoURL"]))
	}
	if err := m.files.walk(); err != nil {
		return nil, err
	}
	if len(listValue(g["directories"])) > 0 {
		return m.directories(a)
	}
	if len(listValue(g["files"])) > 0 {
		return m.inFiles(a)
	}
	return nil, errors.New("its git generator has neither directories nor files")
}

// reads reports whether the generator reads this repository: by its address, or since the Applications are read from the same.
func (m *maker) reads(a asked) bool {
	address := textValue(a.generator["repoURL"])
	if m.files.here != nil && m.files.here.IsHere(address) {
		return true
	}
	spec := mapValue(a.template["spec"])
	sources := append([]any{spec["source"]}, listValue(spec["sources"])...)
	return address != "" && slices.ContainsFunc(sources, func(s any) bool { return mapValue(s)["repoURL"] == address })
}

// directories are those that the patterns match and none excludes (path.Match).
func (m *maker) directories(a asked) ([]given, error) {
	g := a.generator
	var out []given
	for _, name := range m.files.dirs {
		wanted, err := isChosen(listValue(g["directories"]), func(pattern string) (bool, error) { return path.Match(pattern, name) })
		if err != nil {
			return nil, err
		}
		if !wanted {
			continue
		}
		p := parameters{}
		m.place(p, g, name, "")
		if err := m.values(p, g); err != nil {
			return nil, err
		}
		out = append(out, given{p, []discover.Spot{a.values()}})
	}
	return out, nil
}

// values is where the values are written that a generator adds to what it finds.
func (a asked) values() discover.Spot { return discover.Spot{Name: "values", At: a.at + ".values"} }

// isChosen reports whether a pattern matches, and none that excludes.
func isChosen(patterns []any, matches func(pattern string) (bool, error)) (bool, error) {
	wanted := false
	for _, p := range patterns {
		pattern, exclude := textValue(mapValue(p)["path"]), mapValue(p)["exclude"] == true
		found, err := matches(pattern)
		if err != nil {
			return false, fmt.Errorf("%q of its git generator: %w", pattern, err)
		}
		if found && exclude {
			return false, nil
		}
		wanted = wanted || found
	}
	return wanted, nil
}

// inFiles are what stands in files that the patterns match and none excludes: one set of parameters, or a list of them. A pattern is one of
// git ls-files, as Argo CD has it unless it runs with --enable-new-git-file-globbing: * matches / too.
func (m *maker) inFiles(a asked) ([]given, error) {
	names, err := m.namesOf(listValue(a.generator["files"]))
	if err != nil {
		return nil, err
	}
	var out []given
	for _, name := range names {
		all, err := m.inFile(a, name)
		if err != nil {
			return nil, fmt.Errorf("%s of its git generator: %w", name, err)
		}
		if out = append(out, all...); len(out) > maxSets {
			return nil, errTooMany
		}
	}
	return out, nil
}

// namesOf are the files that the patterns choose, in order.
func (m *maker) namesOf(patterns []any) ([]string, error) {
	known := globs{}
	var names []string
	for _, name := range m.files.all {
		wanted, err := isChosen(patterns, func(pattern string) (bool, error) { return known.match(pattern, name) })
		if err != nil {
			return nil, err
		}
		if wanted {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// globs are patterns that were read before.
type globs map[string]*regexp.Regexp

func (g globs) match(pattern, name string) (bool, error) {
	re, there := g[pattern]
	if !there {
		var err error
		if re, err = globbed(pattern); err != nil {
			return false, err
		}
		g[pattern] = re
	}
	return re.MatchString(name), nil
}

func (m *maker) inFile(a asked, name string) ([]given, error) {
	data, err := render.ReadFile(m.files.files, name, maxFile)
	if err != nil {
		return nil, err
	}
	one, many := map[string]any{}, []map[string]any{}
	if err := yaml.Unmarshal(data, &one); err == nil {
		many = append(many, one)
	} else if err := yaml.Unmarshal(data, &many); err != nil {
		return nil, fmt.Errorf("neither a map nor a list of maps: %s", firstLine(err))
	}
	g, list := a.generator, len(one) == 0
	var out []given
	for i, content := range many {
		p := overridden(nil, content)
		if !m.fill.goTemplate {
			p = map[string]any{}
			for k, v := range parameters(content).flat() {
				p[k] = v
			}
		}
		m.place(p, g, path.Dir(name), path.Base(name))
		if err := m.values(p, g); err != nil {
			return nil, err
		}
		at := ""
		if list {
			at = fmt.Sprintf("[%d]", i)
		}
		out = append(out, given{p, []discover.Spot{a.values(), {File: name, At: at}}})
	}
	return out, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// globbed is a pattern of git ls-files: what it matches, or a directory above it by its plain name.
func globbed(pattern string) (*regexp.Regexp, error) {
	if pattern == "" || strings.HasPrefix(pattern, ":") || strings.HasPrefix(pattern, "/") || strings.HasPrefix(path.Clean(pattern), "..") {
		return nil, errors.New("a pattern that is empty, leads out of the repository, or begins with : is not followed")
	}
	pattern = strings.TrimPrefix(pattern, "./")
	plain := "^" + regexp.QuoteMeta(strings.TrimSuffix(pattern, "/")) + "(/.*)?$"
	if !strings.ContainsAny(pattern, `*?[\`) {
		return regexp.Compile("(?s)" + plain)
	}
	var b bytes.Buffer
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			b.WriteString(".*")
		case c == '?':
			b.WriteByte('.')
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case c == '[':
			n := classLength(pattern[i:])
			if n == 0 {
				return nil, path.ErrBadPattern
			}
			b.WriteString(strings.Replace(pattern[i:i+n], "[!", "[^", 1))
			i += n - 1
		case c >= 0x80:
			b.WriteByte(c)
		default:
			b.WriteString(regexp.QuoteMeta(string(rune(c))))
		}
	}
	return regexp.Compile("(?s)^" + b.String() + "$|" + plain)
}

var bracket = regexp.MustCompile(`^\[[!^]?\]?(\[:[a-z]+:\]|\\.|[^\]\\])*\]`)

// classLength is the length of the class that a text begins with, 0 for none.
func classLength(text string) int { return len(bracket.FindString(text)) }
