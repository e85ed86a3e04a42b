package reconcile

import (
	"context"
	"encoding/base64"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/record"
)

// storedByHelm lists one release, web.v1 of the stock helm, for a namespace.
type storedByHelm struct {
	live.Reader
	namespace string
}

func (s storedByHelm) List(context.Context, live.Interest) ([]object.Object, error) {
	twice := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(`{"name": "web", "version": 1, "namespace": "` + s.namespace + `"}`))))
	return []object.Object{{
		"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": map[string]any{"release": twice},
		"metadata": map[string]any{"name": "sh.helm.release.v1.web.v1", "namespace": "shop", "labels": map[string]any{"version": "1", "status": "deployed"}},
	}}, nil
}

// TestAReleaseOfAnotherNamespaceIsNotTheFormerOne: who has stored one under the same name and revision keeps it.
func TestAReleaseOfAnotherNamespaceIsNotTheFormerOne(t *testing.T) {
	former := record.Former{Name: "web", Namespace: "a", Storage: "shop", Known: map[int]string{1: "sha256:of-others"}}
	for namespace, want := range map[string]bool{"a": true, "b": false} {
		stored, err := releases.Store{Access: tenancy.Access{Live: storedByHelm{namespace: namespace}}, Namespace: "shop", Name: "web"}.List(t.Context())
		if err != nil || len(stored) != 1 {
			t.Fatalf("%d releases, %v", len(stored), err)
		}
		if got := isOfFormer(stored[0], former); got != want {
			t.Errorf("for namespace %s: the former one: %t, want %t", namespace, got, want)
		}
	}
}
