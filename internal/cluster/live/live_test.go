package live_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestSecretsAreWatchedByMetadataAlone(t *testing.T) {
	for gvk, want := range map[object.GVK]live.Depth{
		{Version: "v1", Kind: "Secret"}:                               live.Metadata,
		{Version: "v1", Kind: "ConfigMap"}:                            live.Metadata,
		{Group: "apps", Version: "v1", Kind: "Deployment"}:            live.Full,
		{Group: "example.org", Version: "v1", Kind: "Secret"}:         live.Full,
		{Group: "apiextensions.k8s.io", Kind: "Whatever that may be"}: live.Full,
	} {
		if got := live.DepthOf(gvk); got != want {
			t.Errorf("%s: %s, want %s", gvk, got, want)
		}
	}
}

// BenchmarkFingerprint hashes a Deployment as large as people write them.
