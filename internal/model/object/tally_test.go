package object_test

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

func TestATallyNamesTheFirstAndCountsTheOthers(t *testing.T) {
	var tally object.Tally
	for _, n := range []int{3, 1, 2} {
		tally = tally.With(object.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("c%02d", n)})
	}
	if got := tally.String(); got != "ConfigMap shop/c01, ConfigMap shop/c02, ConfigMap shop/c03" {
		t.Error(got)
	}
	before := tally.String()
	many := tally
	for n := range 20 {
		many = many.With(object.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("b%02d", n)})
	}
	if len(many.First) != 10 || many.Total != 23 || many.First[9].Name != "b09" || tally.String() != before {
		t.Errorf("%v of %v", many, tally)
	}
}
