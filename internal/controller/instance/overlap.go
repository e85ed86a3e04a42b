package instance

import (
	"context"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster"
)

// Instances of truce in one cluster must have disjoint namespaces (ADR 16). Nothing enforces that. These functions find instances that overlap
// by what they have published, and count only those that give a sign of life. Without permission to list ConfigMaps in all namespaces, only those
// in a few known places are found.

// Overlap returns the namespaces that two instances both work for; "all" where both work for the whole cluster.
func Overlap(a, b cluster.Namespaces) []string {
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

// WarnOfOverlap returns a warning if more than one of the instances that work for a namespace gives a sign of life, else "".
func WarnOfOverlap(ctx context.Context, namespace string, all []Instance) string {
	if len(all) < 2 {
		return ""
	}
	var at []string
	for _, i := range all {
		if i.SignOfLife(ctx) == nil {
			at = append(at, i.String())
		}
	}
	if len(at) < 2 {
		return ""
	}
	return fmt.Sprintf("%d truce instances work for namespace %s, and all write there (%s): give each instance its own namespaces by --namespace, or remove all but one",
		len(at), namespace, strings.Join(at, ", "))
}
