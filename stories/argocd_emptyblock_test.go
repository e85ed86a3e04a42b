package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// prefixedOverlay is an overlay with a base, a patch in a file of its own and a prefix.
const prefixedOverlay = `
-- base/kustomization.yaml --
resources: [d.yaml]
-- base/d.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 1
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: d, image: "nginx:1"}]}
-- prod/kustomization.yaml --
namePrefix: prod-
resources: [../base]
patches: [{path: fewer.yaml}]
-- prod/fewer.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {replicas: 0}
`

// TestADirectoryThatSaysNothingLeavesAKustomizationOne: as in Argo CD, which takes such a block out of the Application; Git still has it.
func TestADirectoryThatSaysNothingLeavesAKustomizationOne(t *testing.T) {
	for name, c := range map[string]struct{ blocks, image string }{
		"alone":           {"directory: {recurse: false}", "nginx:1"},
		"empty":           {"directory: {}, helm: {valueFiles: []}", "nginx:1"},
		"beside an image": {"directory: {jsonnet: {}}, kustomize: {images: ['nginx:2']}", "nginx:2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newArgoWorld(t, policy.Policy{}, prefixedOverlay)
			d := w.Watch(t, deployments, w.ns, "prod-d")
			w.Apply(t, replace(t, w.applicationText("web", "prod", automated), "targetRevision: main}", "targetRevision: main, "+c.blocks+"}"))
			t.Cleanup(w.removeApps)
			o := w.inSync("web")
			w.await(d, ofImage(c.image))
			if got := listed(o); got != "Deployment prod-d Synced" {
				t.Errorf("it lists %s", got)
			}
			if got := text(o, "status", "sourceType"); got != "Kustomize" {
				t.Errorf("it is read as %s", got)
			}
		})
	}
}
