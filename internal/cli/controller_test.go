package cli

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/exit"
)

func TestNamespacesAreNamedOnceAndWell(t *testing.T) {
	got, err := namespaces([]string{"team-b", "team-a", "team-b"})
	if diff := cmp.Diff(cluster.Namespaces{"team-b", "team-a"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, bad := range []string{"", "Team", "a.b", "*"} {
		_, err := namespaces([]string{"team-a", bad})
		if coded := (*exit.Error)(nil); !errors.As(err, &coded) || coded.Code != exit.Usage {
			t.Errorf("--namespace %q: %v", bad, err)
		}
	}
}
