package house

import (
	"fmt"
	"slices"
	"strings"
)

// floors is the plan: who stands where.
type floors struct {
	place    map[string]int // of each parent, counted from the ground
	children []string       // such as source/git
}

// parseFloors reads lines of the form `read  source -> git oci`.
func parseFloors(plan []byte) (floors, error) {
	f := floors{place: map[string]int{}}
	for line := range strings.Lines(string(plan)) {
		line, _, _ = strings.Cut(line, "#")
		stand, arrow, _ := strings.Cut(line, "->")
		words := strings.Fields(stand)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			return floors{}, fmt.Errorf("floors.txt: %q: want a floor, a package and its children", strings.TrimSpace(line))
		}
		if _, twice := f.place[words[1]]; twice {
			return floors{}, fmt.Errorf("floors.txt: %s stands there twice", words[1])
		}
		f.place[words[1]] = len(f.place)
		for _, child := range strings.Fields(arrow) {
			f.children = append(f.children, words[1]+"/"+child)
		}
	}
	return f, nil
}

// testRooms serve tests alone. They may import and reach whatever the tests need.
var testRooms = []string{"house", "golden", "kubetest", "gittest"}

// onTheList: a package has a place before it has a line of code.
func onTheList(h house, say say) {
	for _, p := range h.pkgs {
		name, ok := room(p.dir)
		if !ok {
			continue
		}
		if _, ok := h.floors.place[parent(name)]; !ok {
			say(p.dir, "stands on no floor; give it a place in floors.txt, or move its code to where it belongs")
		} else if isChild(name) && !slices.Contains(h.floors.children, name) {
			say(p.dir, "is no child in floors.txt; write it behind the arrow of %s", parent(name))
		}
	}
}

// importsGoDown keeps the import graph equal to the flow of data.
func importsGoDown(h house, say say) {
	for p, f := range h.written() {
		importer, ok := room(p.dir)
		if !ok {
			continue
		}
		for spec, path := range f.imports() {
			imported, ours := room(path)
			if ours && h.floors.place[parent(imported)] > h.floors.place[parent(importer)] {
				say(f.at(spec), "%s imports %s, which stands above it; take the value as an argument, or declare the interface below",
					importer, imported)
			}
		}
	}
}

// onlyWireImportsChildren keeps the choice of an implementation in one place.
func onlyWireImportsChildren(h house, say say) {
	for p, f := range h.written() {
		importer, _ := room(p.dir)
		if parent(importer) == "wire" || slices.Contains(testRooms, parent(importer)) || parent(p.dir) == "bench" {
			continue
		}
		for spec, path := range f.imports() {
			if imported, ours := room(path); ours && isChild(imported) {
				say(f.at(spec), "%s imports %s; take the interface of %s and let wire pick", p.dir, imported, parent(imported))
			}
		}
	}
}

// outside is what a parent must not reach, not even through what it imports: the network, other processes, the cluster.
var outside = []string{"net", "net/http", "os/exec", module + "internal/cluster"}

// atTheDoor are the parents that may.
var atTheDoor = append([]string{"lease", "cluster", "controller", "cli", "web", "metrics", "wire"}, testRooms...)

// parentsStayInside keeps the algorithms testable without a world around them.
func parentsStayInside(h house, say say) {
	for _, p := range h.pkgs {
		name, ok := room(p.dir)
		if !ok || isChild(name) || slices.Contains(atTheDoor, name) {
			continue
		}
		if way := h.way(module+p.dir, outside); way != nil {
			say(p.dir, "reaches %s; move that into a child of %s", strings.Join(way[1:], " -> "), name)
		}
	}
}

// way returns a shortest way along imports from a package to one of the others, or nil.
func (h house) way(from string, to []string) []string {
	cameFrom := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if at := queue[0]; at != from && slices.Contains(to, at) {
			return back(cameFrom, at)
		}
		for _, next := range h.graph[queue[0]] {
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
