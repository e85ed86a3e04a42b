package helm

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render"
)

// BenchmarkAChartOf200Objects renders a chart of 200 Deployments: for the first time, with another value than the stored release, and as the stored
// release that is still wanted.
func BenchmarkAChartOf200Objects(b *testing.B) {
	files := fstest.MapFS{"Chart.yaml": {Data: []byte("{apiVersion: v2, name: c, version: 1.0.0}")}, "values.yaml": {Data: []byte("image: nginx:1.21.0\nreplicas: 1\n")}}
	for i := range 200 {
		files[fmt.Sprintf("templates/%03d.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-%[1]d
  labels: {app.kubernetes.io/name: c, app.kubernetes.io/instance: {{ .Release.Name | quote }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: c-%[1]d}}
  template:
    metadata: {labels: {app: c-%[1]d}}
    spec:
      containers:
      - {name: main, image: {{ .Values.image | quote }}, resources: {requests: {cpu: 100m, memory: 64Mi}}}
`, i)}
	}
	first := render.Request{Path: ".", Files: tree{files}, Chart: &release.Request{Release: "r", Namespace: "n"}}
	stored, err := renderer().Render(b.Context(), first)
	if err != nil || len(stored.Objects) != 200 {
		b.Fatalf("%d objects, %v", len(stored.Objects), err)
	}
	same := *first.Chart
	same.Past, same.Newest = 1, &release.Stored{Text: stored.Release.Text, Trust: release.Trusted}
	other := same
	other.Values = []release.Values{{Text: "image: nginx:1.22.0"}}
	for _, c := range []struct {
		name  string
		chart release.Request
		want  hook.Step
	}{{"cold", *first.Chart, hook.Install}, {"one value changed", other, hook.Upgrade}, {"released", same, hook.Keep}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				r := first
				r.Chart = &c.chart
				res, err := renderer().Render(b.Context(), r)
				if err != nil || res.Release.Step != c.want {
					b.Fatalf("%v", err)
				}
			}
		})
	}
}
