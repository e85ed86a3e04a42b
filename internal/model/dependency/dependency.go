// Package dependency answers: which other objects must be ready before this app runs, and do apps depend on each other in a circle?
//
// In: what an app's custom resource says of its dependencies.
// Out: Dependency, and the members of a cycle.
// Promise: pure; a cycle is found from each of its members, and from nothing that only depends on one.
// Not here: whether a dependency is ready (the dialects), waiting for it (controller).
package dependency

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Dependency is a custom resource that must be ready before an app runs.
type Dependency struct {
	On object.ID
	// Ready replaces the dialect's own rule of when On is ready; its zero value does not.
	Ready cel.Expression
}

// FindCycle returns the shortest way from an app over what apps depend on back to it, beginning with the app itself; nil for none.
func FindCycle(from object.ID, dependencies func(object.ID) []Dependency) []object.ID {
	before := map[object.ID]object.ID{}
	next := []object.ID{from}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, d := range dependencies(at) {
			if d.On == from {
				return dependencyPath(at, from, before)
			}
			if _, known := before[d.On]; !known {
				before[d.On] = at
				next = append(next, d.On)
			}
		}
	}
	return nil
}

func dependencyPath(at, from object.ID, before map[object.ID]object.ID) []object.ID {
	path := []object.ID{at}
	for at != from {
		at = before[at]
		path = append(path, at)
	}
	slices.Reverse(path)
	return path
}

// CycleText says what is wrong with a cycle as FindCycle returns it: "dependency cycle: a/x → a/y → a/x: …", with the kinds
// where they differ.
func CycleText(cycle []object.ID) string {
	var names []string
	mixed := slices.ContainsFunc(cycle, func(id object.ID) bool { return id.Kind != cycle[0].Kind })
	for _, id := range append(slices.Clip(cycle), cycle[0]) {
		name := id.Namespace + "/" + id.Name
		if mixed {
			name = id.Kind + "/" + name
		}
		names = append(names, name)
	}
	return "dependency cycle: " + strings.Join(names, " → ") + ": each waits for the next, and none is applied; remove one of these entries of dependsOn"
}
