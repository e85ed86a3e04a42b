package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pointer is what Git holds of a file that is kept in Git LFS.
const pointer = `version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345
`

// TestAPointerOfLFSIsNoContent: a manifest that moves to LFS is not pruned from an Application, which passes over files without objects, and data that moves
// there is not replaced by its pointer.
func TestAPointerOfLFSIsNoContent(t *testing.T) {
	w := newArgoWorld(t, app.Policy{}, configMaps("other", "a", "b")+
		"-- app/kustomization.yaml --\nnamespace: NAMESPACE\nconfigMapGenerator: [{name: data, files: [k], options: {disableNameSuffixHash: true}}]\n-- app/k --\ncontent\n")
	w.application("web", "other", automated)
	w.app("app", "./app", defaultSpec)
	w.inSync("web")
	w.ready("app")
	b, data := w.exists(configmaps, "b"), w.exists(configmaps, "data")
	w.repo.Commit(map[string]string{"other/b.yaml": pointer, "app/k": pointer}, "git lfs migrate import")
	t.Log(w.argoCondition("web", "ComparisonError", "other/b.yaml: a pointer of Git LFS"))
	t.Log(w.fails("app", "[k]: a pointer of Git LFS"))
	for _, o := range []*unstructured.Unstructured{b, data} {
		if now := w.exists(configmaps, o.GetName()); now.GetResourceVersion() != o.GetResourceVersion() {
			t.Errorf("ConfigMap %s was changed: %v", o.GetName(), now.Object["data"])
		}
	}
}
