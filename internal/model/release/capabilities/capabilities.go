// Package capabilities answers: what does an API server say of itself to the templates of charts?
//
// In: nothing; cluster fills it in.
// Out: Set.
// Promise: values alone.
// Not here: discovery (cluster), what templates see of it (render/helm).
package capabilities

import "strings"

// Set is what an API server says of itself. It is not changed.
type Set struct {
	KubeVersion string   // such as v1.34.2
	APIVersions []string // each apiVersion, and each APIVERSION/KIND; sorted
	// Unanswered are the apiVersions of which the server says that they are there, and not what they have: an aggregated API that does not answer, and
	// has not before. APIVersions may lack them and their kinds. Sorted.
	Unanswered []string
}

// MayLack reports whether the server may serve kinds of an API group that APIVersions lacks.
func (s Set) MayLack(group string) bool {
	for _, of := range s.Unanswered {
		if name, _, _ := strings.Cut(of, "/"); name == group {
			return true
		}
	}
	return false
}
