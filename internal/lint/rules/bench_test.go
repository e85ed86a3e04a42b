package rules_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

const manyCR = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app-%[1]d, namespace: flux-system}
spec:
  interval: 10m
  path: ./apps/%[1]d
  prune: true
  targetNamespace: ns-%[1]d
  sourceRef: {kind: GitRepository, name: shop}
  dependsOn: [{name: app-%[2]d}]
  ignore:
  - paths: [/spec/paused]
    target: {kind: Deployment}
`

const manyObjects = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ns-%[1]d}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'web:1', env: [{name: A, value: b}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: ns-%[1]d}
spec:
  maxReplicas: 10
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ns-%[1]d}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: ns-%[1]d}
data: {a: b}
`

// many is a repository of apps, each of which has an autoscaler that Git works against.
func many(b *testing.B, n int) discover.Discovery {
	b.Helper()
	dir := b.TempDir()
	write := func(name, text string) []render.Object {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			b.Fatal(err)
		}
		all, err := render.Manifests(name, []byte(text))
		if err != nil {
			b.Fatal(err)
		}
		return all
	}
	s := discover.Discovery{Files: os.DirFS(dir)}
	for i := range n {
		cr, manifest := fmt.Sprintf("clusters/one/%d.yaml", i), fmt.Sprintf("apps/%d/all.yaml", i)
		of := write(cr, fmt.Sprintf(manyCR, i, max(i-1, 0)))[0]
		write(fmt.Sprintf("apps/%d/kustomization.yaml", i), "{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization, metadata: {name: app}, resources: [all.yaml]}\n")
		u := discover.Unit{Dialect: discover.Flux, App: flux.Kustomizations{}.App(of.Data, policy.Policy{}), Resource: of.Data, File: cr, Line: 1, Reads: []string{manifest}}
		set, err := desired.NormalizeUnmarked(write(manifest, fmt.Sprintf(manyObjects, i)), "", func(object.GVK) desired.Scope { return desired.Namespaced })
		if err != nil {
			b.Fatal(err)
		}
		u.Objects = set.Objects
		s.Units = append(s.Units, u)
	}
	return s
}

func BenchmarkJudgeAThousandApps(b *testing.B) {
	s := many(b, 1000)
	for b.Loop() {
		if len(rules.CheckAll(s)) < 2000 {
			b.Fatal("too little is found")
		}
	}
}
