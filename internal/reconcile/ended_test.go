package reconcile

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// TestWhatHasReturnedIsReadOfTheSameItem: an item was put before Git's in a list without keys.
func TestWhatHasReturnedIsReadOfTheSameItem(t *testing.T) {
	routes := func(items ...any) object.Object { return object.Object{"spec": map[string]any{"http": items}} }
	route := func(name string, weight int64) any { return map[string]any{"name": name, "weight": weight} }
	zero, one := 0, 1
	w := &objectReconcile{live: routes(route("header", 100), route("a", 7)), snap: snapshot{desired: routes(route("a", 7), route("b", 1))}}
	weight := func(i *int) field.Path {
		return slices.Concat(field.NewPath("spec", "http"), field.Path{{Index: i}}, field.NewPath("weight"))
	}
	if got := w.liveValue(weight(&zero)); got != int64(7) {
		t.Errorf("the weight of a is %v", got)
	}
	if got := w.liveValue(weight(&one)); got != nil {
		t.Errorf("the weight of b, which live has not, is %v", got)
	}
}
