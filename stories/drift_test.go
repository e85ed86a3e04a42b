package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/app"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// document3 is the Deployment of the third requirement document.
const document3 = `
-- apps/my-app/my-app.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: my-app
  namespace: NAMESPACE
  annotations: {team: shop}
spec:
  replicas: 3
  selector:
    matchLabels: {app: my-app}
  template:
    metadata:
      labels: {app: my-app}
    spec:
      containers:
      - name: main
        image: nginx:1.21.0
        args: [serve, --fast]
        env: [{name: COLOUR, value: blue}]
`

func TestAScaleByHandIsPutBack(t *testing.T) {
	w := newWorld(t, app.Policy{}, document3)
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
}
