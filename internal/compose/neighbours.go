package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// neighbours are what other controllers have written down that work for one of our namespaces, too. Ours lies at home. One for the whole
// cluster and one that keeps its namespaces by name are none to each other.
func neighbours(published []object.Object, home string, ours cluster.Namespaces, process app.Policy) []object.Object {
	var out []object.Object
	for _, o := range published {
		theirs := worksFor(o)
		shared := !ours.Limited() || !theirs.Limited() || slices.ContainsFunc(ours, theirs.Cover)
		if ours.Limited() != theirs.Limited() && (keeps(ours, process) || keeps(theirs, policyIn(o))) {
			shared = false
		}
		if o.Namespace() != home && shared {
			out = append(out, o)
		}
	}
	return out
}

// meet warns of other controllers that are at work for one of our namespaces. Both write there: nothing but their flags keeps apart two
// truces for the whole cluster, or two that name the same namespace. Who may not list ConfigMaps sees those of a few namespaces.
func (s *service) meet(ctx context.Context) {
	c := &client{parts: s.parts}
	published, err := c.allPublished(ctx, "")
	if err != nil {
		s.options.Log.Warn("nobody can tell whether another truce works for the same namespaces", "error", err.Error())
		return
	}
	ours := s.options.Namespaces
	for _, o := range neighbours(published, ours.Home(s.parts.cluster.Namespace()), ours, s.options.Process) {
		if c.sign(ctx, o) == nil {
			s.options.Log.Warn(crowd, "other", where(o), "its namespaces", among(worksFor(o)), "ours", among(ours))
		}
	}
}

const crowd = "another truce works for the same namespaces, and both write there: give each its own by --namespace, or end one"

func among(n cluster.Namespaces) string {
	if !n.Limited() {
		return "all"
	}
	return strings.Join(n, ",")
}

// crowded says that more than one controller is at work for a namespace; "" where that is not so.
func (c *client) crowded(ctx context.Context, namespace string, published []object.Object) string {
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
	return fmt.Sprintf("%d truces work for namespace %s, and all write there (%s): give each its own by --namespace, or end all but one", len(at), namespace, strings.Join(at, ", "))
}
