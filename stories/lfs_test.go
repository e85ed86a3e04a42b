package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// pointer is what Git holds of a file that is kept in Git LFS.
const pointer = `version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345
`

// TestAPointerOfLFSIsNoManifest: a manifest that moves to LFS is not pruned from an Application, which passes over files without objects.
func TestAPointerOfLFSIsNoManifest(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("other", "a", "b"))
	w.application("web", "other", automated)
	w.inSync("web")
	b := w.exists(configmaps, "b")
	w.repo.Commit(map[string]string{"other/b.yaml": pointer}, "git lfs migrate import")
	t.Log(w.argoCondition("web", "ComparisonError", "other/b.yaml: a pointer of Git LFS"))
	if now := w.exists(configmaps, b.GetName()); now.GetResourceVersion() != b.GetResourceVersion() {
		t.Errorf("the ConfigMap was changed: %v", now.Object["data"])
	}
}
