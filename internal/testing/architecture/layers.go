package architecture

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// layers is layers.txt: the place of each package of internal/.
type layers struct {
	place map[string]int // by package, such as source/git, counted from the first line
	pure  []string       // the packages that answer from their arguments alone
}

// parseLayers reads lines of the form `pure decide claim compare .`.
func parseLayers(text []byte) (layers, error) {
	l := layers{place: map[string]int{}}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		pure := len(words) > 0 && words[0] == "pure"
		if pure {
			words = words[1:]
		}
		switch {
		case len(words) == 0:
			continue
		case len(words) == 1:
			return layers{}, fmt.Errorf("layers.txt: %q: want a folder and its packages", strings.TrimSpace(line))
		}
		if err := l.add(words[0], words[1:], pure); err != nil {
			return layers{}, err
		}
	}
	return l, nil
}

func (l *layers) add(folder string, packages []string, pure bool) error {
	for _, p := range packages {
		name := path.Join(folder, p)
		if _, twice := l.place[name]; twice {
			return fmt.Errorf("layers.txt: %s is listed twice", name)
		}
		l.place[name] = len(l.place)
		if pure {
			l.pure = append(l.pure, name)
		}
	}
	return nil
}

// folderOf returns the first part of a package's name.
func folderOf(name string) string {
	folder, _, _ := strings.Cut(name, "/")
	return folder
}

// inTesting reports a package that serves tests alone. It may import whatever the tests need.
func inTesting(name string) bool { return folderOf(name) == "testing" }

// everyPackageHasAPlace: a package is in layers.txt before it has a line of code.
func everyPackageHasAPlace(t tree, report report) {
	for _, p := range t.pkgs {
		name, ok := internalName(p.dir)
		if !ok {
			continue
		}
		if _, ok := t.layers.place[name]; !ok {
			report(p.dir, "is not in layers.txt; add it to the line of a folder, or move its code to where it belongs")
		}
	}
}

// importsGoDown keeps the import graph equal to the flow of data.
func importsGoDown(t tree, report report) {
	for p, f := range t.written() {
		importer, ok := internalName(p.dir)
		if !ok || inTesting(importer) {
			continue
		}
		for spec, path := range f.imports() {
			imported, ours := internalName(path)
			if ours && t.layers.place[imported] > t.layers.place[importer] {
				report(f.at(spec), "%s imports %s, which comes after it in layers.txt; take the value as an argument, or declare an interface here",
					importer, imported)
			}
		}
	}
}

// way returns a shortest way along imports from a package to one of the others, or nil.
func (t tree) way(from string, to []string) []string {
	cameFrom := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if at := queue[0]; at != from && slices.Contains(to, at) {
			return back(cameFrom, at)
		}
		for _, next := range t.graph[queue[0]] {
			if _, seen := cameFrom[next]; !seen {
				cameFrom[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func back(cameFrom map[string]string, at string) []string {
	var way []string
	for ; at != ""; at = cameFrom[at] {
		way = append(way, strings.TrimPrefix(at, module))
	}
	slices.Reverse(way)
	return way
}
