package compose

import (
	"os"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestMain lets the test binary be the worker processes that it starts.
func TestMain(m *testing.M) {
	if code, ok := RunHidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	kubetest.Main(m)
}
