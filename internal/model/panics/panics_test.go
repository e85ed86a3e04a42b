package panics_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/panics"
)

func breaks() (err error) {
	defer panics.Recover(&err)
	return fmt.Errorf("it has %d elements", []int{}[len(os.Args)])
}

func TestAPanicBecomesAnErrorWithItsStack(t *testing.T) {
	var p *panics.Error
	if err := breaks(); !errors.As(err, &p) || !strings.Contains(p.Error(), "index out of range") || !strings.Contains(p.Stack, "panics_test.breaks") {
		t.Errorf("%v\n%+v", err, p)
	}
	if panics.CaughtError(nil) != nil {
		t.Error("no panic is an error")
	}
	if long := panics.CaughtError(strings.Repeat("x", 10_000)); len(long.Error()) > 1000 {
		t.Errorf("%d bytes", len(long.Error()))
	}
}
