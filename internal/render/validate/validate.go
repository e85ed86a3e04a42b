// Package validate answers: would the server take this object?
//
// In: an object as Git wants it, and the schema that the server publishes for its kind.
// Out: Problems: the field, and what is wrong with it, without the value.
// Promise: an object that the server would take has no Problem; a Problem never contains a value, since it may be a secret's.
// Not here: where schemas come from (openapi child); what only admission and the kind's own code know (a dry run).
package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// ErrUnknownKind says that the server publishes no schema for the kind: it is not served, or not yet.
var ErrUnknownKind = errors.New("the API server publishes no schema for this kind")

// Problem is one thing that the server would refuse.
type Problem struct {
	Path    string // of the field, such as spec.template.spec.containers[0].image
	Message string
}

// Schema knows what an object of one kind may hold. It may be used concurrently and does not keep the object.
type Schema interface {
	Problems(o object.Object) []Problem
}

// Schemas finds the schema of a kind: ErrUnknownKind if the server publishes none. It may block, and be called concurrently.
type Schemas interface {
	Schema(ctx context.Context, gvk object.GVK) (Schema, error)
}

// ValidateObject returns what is wrong with an object, by field.
func ValidateObject(s Schema, o object.Object) []Problem {
	all := s.Problems(o)
	if o.Name() == "" {
		all = append(all, Problem{Path: "metadata.name", Message: "is required"}) // generateName cannot be applied
	}
	slices.SortFunc(all, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message)) })
	return slices.Compact(all)
}

// Checker checks objects of a revision before the first of it is applied. An object whose kind has no schema yet passes:
// its CRD may come with the same revision; the apply fails if it does not.
type Checker struct {
	Schemas Schemas
}

// maxShown is how many problems of an object its error lists.
const maxShown = 5

// Check returns an error for each of the objects, in their order, that names its first few problems; nil for one that has none.
func (c Checker) Check(ctx context.Context, all []desired.Object) []error {
	out := make([]error, len(all))
	for i, o := range all {
		out[i] = c.check(ctx, o)
	}
	return out
}

func (c Checker) check(ctx context.Context, o desired.Object) error {
	s, err := c.Schemas.Schema(ctx, o.GVK)
	if errors.Is(err, ErrUnknownKind) {
		return nil
	}
	if err != nil {
		return err
	}
	all := ValidateObject(s, o.Data)
	if len(all) == 0 {
		return nil
	}
	var text []string
	for _, p := range all[:min(maxShown, len(all))] {
		text = append(text, p.String())
	}
	if more := len(all) - maxShown; more > 0 {
		text = append(text, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(text, "; "))
}

// String prints the problem as "spec.replicas: must be of type integer".
func (p Problem) String() string { return p.Path + ": " + p.Message }
