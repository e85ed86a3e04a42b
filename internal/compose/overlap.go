package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/view/preflight"
)

// Instances of truce in one cluster must have disjoint namespaces (ADR 16). Nothing enforces that. These functions find instances that overlap by
// the ConfigMaps truce-controller, and count only those that give a sign of life: a Lease that is renewed, or a status page that answers. Without
// permission to list ConfigMaps in all namespaces, only those in a few known places are found.

// overlap returns the namespaces that two instances both work for; "all" where both work for the whole cluster.
func overlap(a, b cluster.Namespaces) []string {
	switch {
	case !a.Limited() && !b.Limited():
		return []string{"all"}
	case !a.Limited():
		return b
	}
	var out []string
	for _, namespace := range a {
		if b.Cover(namespace) {
			out = append(out, namespace)
		}
	}
	return out
}

// warnOfOverlap logs each other instance that works for a namespace of this one.
func (s *service) warnOfOverlap(ctx context.Context) {
	c := &client{parts: s.parts}
	published, err := c.allPublished(ctx, "")
	if err != nil {
		s.options.Log.Warn("cannot check whether another truce instance works for the same namespaces", "error", err.Error())
		return
	}
	ours := s.options.Namespaces
	for _, o := range published {
		shared := overlap(ours, worksFor(o))
		if o.Namespace() != ours.Home(s.parts.cluster.Namespace()) && len(shared) > 0 && c.sign(ctx, o) == nil {
			s.options.Log.Warn("another truce instance works for the same namespaces, and both write there: give each instance its own namespaces by --namespace, or remove one",
				"other", where(o), "shared", strings.Join(shared, ","))
		}
	}
}

// overlapNote returns a warning if more than one instance works for the namespace, else "".
func (c *client) overlapNote(ctx context.Context, namespace string, published []object.Object) string {
	if len(published) < 2 {
		return ""
	}
	var at []string
	for _, o := range published {
		if c.sign(ctx, o) == nil {
			at = append(at, where(o))
		}
	}
	if len(at) < 2 {
		return ""
	}
	return fmt.Sprintf("%d truce instances work for namespace %s, and all write there (%s): give each instance its own namespaces by --namespace, or remove all but one",
		len(at), namespace, strings.Join(at, ", "))
}

// overlaps finds each pair of instances that work for the same namespaces.
func (x *inspection) overlaps(ctx context.Context) error {
	c := &client{parts: &parts{cluster: x.cluster}}
	all, err := c.allPublished(ctx, "")
	if err != nil || len(all) < 2 {
		return err
	}
	all = slices.DeleteFunc(all, func(o object.Object) bool { return c.sign(ctx, o) != nil })
	for i, a := range all {
		for _, b := range all[i+1:] {
			if shared := overlap(worksFor(a), worksFor(b)); len(shared) > 0 {
				x.facts.Overlaps = append(x.facts.Overlaps, preflight.Overlap{First: where(a), Second: where(b), Namespaces: shared})
			}
		}
	}
	return nil
}
