// Package lookup answers: what do the templates of a chart ask the cluster?
//
// In: nothing; these are the words for it. The caller of a render gives a Reader.
// Out: Question, and the Reader that answers it.
// Promise: no cluster is asked here.
// Not here: asking it (reconcile), running templates (render/helm), the way out of a worker process, and its limits (worker).
package lookup

import "context"

// Question is what a template asks by lookup: an object, or all objects of a kind.
type Question struct {
	APIVersion, Kind string
	// Namespace is empty for all of them, and for kinds that lie in none.
	Namespace string `json:",omitempty"`
	// Name is empty for a list.
	Name string `json:",omitempty"`
}

// String names what is asked for.
func (q Question) String() string {
	out := q.APIVersion + " " + q.Kind
	if q.Namespace == "" && q.Name == "" {
		return out
	}
	out += " "
	if q.Namespace != "" {
		out += q.Namespace + "/"
	}
	if q.Name == "" {
		return out + "*"
	}
	return out + q.Name
}

// Reader asks the cluster, as the identity that the render is for. It may block until ctx ends.
type Reader interface {
	// Lookup returns the object or the list, which is the caller's, as JSON decodes it; an empty map for an object or a kind that is not there.
	// An error says why it is not known, and does not name the question.
	Lookup(ctx context.Context, q Question) (map[string]any, error)
}
