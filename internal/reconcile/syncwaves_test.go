package reconcile

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

func TestWhatComesLastIsPrunedFirst(t *testing.T) {
	type pruned struct {
		kind object.GVK
		wave int
	}
	config, work := object.GVK{Version: "v1", Kind: "ConfigMap"}, object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"}
	namespace := object.GVK{Version: "v1", Kind: "Namespace"}
	all := []pruned{{namespace, 9}, {config, 0}, {work, -1}, {config, 3}, {work, 0}}
	slices.SortFunc(all, func(a, b pruned) int { return pruneOrder(a.kind, b.kind, a.wave, b.wave) })
	if want := []pruned{{config, 3}, {work, 0}, {config, 0}, {work, -1}, {namespace, 9}}; !slices.Equal(all, want) {
		t.Errorf("pruned in the order %v, want %v", all, want)
	}
}
