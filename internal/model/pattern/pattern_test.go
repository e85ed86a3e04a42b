package pattern_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/pattern"
)

func TestAPatternIsCompiledOnceWhenItIsNeeded(t *testing.T) {
	broken := pattern.OnDemand("(") // nothing is compiled yet
	form := pattern.OnDemand("^a{1,3}$")
	if first, second := form(), form(); first != second {
		t.Error("compiled twice")
	}
	if !form().MatchString("aaa") || form().MatchString("b") {
		t.Error("another pattern")
	}
	defer func() {
		if recover() == nil {
			t.Error("what is no regular expression is one")
		}
	}()
	broken()
}
