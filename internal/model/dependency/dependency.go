// Package dependency answers: which other objects must be ready before this app runs, and do apps depend on each other in a circle?
//
// In: what an app's custom resource says of its dependencies.
// Out: Dependency, and the members of a cycle, also of one of sources.
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

// FindCycle returns the shortest way from an app over what apps depend on back to it, beginning with the app itself; nil for none. Sources that are made of
// each other have cycles, too. It asks for the dependencies of each once.
func FindCycle[K comparable](from K, dependencies func(K) []K) []K {
	before := map[K]K{}
	next := []K{from}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, on := range dependencies(at) {
			if on == from {
				return dependencyPath(at, from, before)
			}
			if _, known := before[on]; !known {
				before[on] = at
				next = append(next, on)
			}
		}
	}
	return nil
}

func dependencyPath[K comparable](at, from K, before map[K]K) []K {
	path := []K{at}
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
