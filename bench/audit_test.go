package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkAudit measures `truce audit` on a repository of many apps, from the start of its process to its end: each app is a Flux
// Kustomization that is read at an overlay with a base of its own; of ten apps one has a count that its overlay puts back against an
// autoscaler.
func BenchmarkAudit(b *testing.B) {
	truce := program(b)
	for _, n := range sizes(b, 1000) {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			must(b, writeFiles(dir, fleet(n)))
			var took time.Duration
			var found auditOutput
			for b.Loop() {
				begin := time.Now()
				found = runAudit(b, truce, dir)
				took = time.Since(begin)
			}
			if found.Units != n+1 || found.Objects != 5*n+2+n/10 || len(found.Findings) < n/10 {
				b.Errorf("%d apps, %d objects, %d findings", found.Units, found.Objects, len(found.Findings))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(took.Seconds(), "s")
			b.ReportMetric(float64(n)/took.Seconds(), "apps/s")
			b.ReportMetric(float64(len(found.Findings))/took.Seconds(), "findings/s")
			b.ReportMetric(float64(len(found.Findings)), "findings")
		})
	}
}

// auditOutput is what is read of `truce audit -o json`.
type auditOutput struct {
	Units, Objects int
	Findings       []any
}

func runAudit(b *testing.B, truce, dir string) auditOutput {
	b.Helper()
	cmd := exec.Command(truce, "audit", dir, "-o", "json")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		b.Fatal(err)
	}
	var found auditOutput
	must(b, json.Unmarshal(out.Bytes(), &found))
	return found
}

// fleet is a repository of apps, as flux bootstrap begins one.
func fleet(n int) map[string]string {
	const kustomization = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: flux-system}
spec: {interval: 10m, prune: true, path: PATH, sourceRef: {kind: GitRepository, name: flux-system}}
`
	const autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: NAME}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}, minReplicas: 2, maxReplicas: 10}
`
	files := map[string]string{
		"clusters/prod/flux-system.yaml": `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: "https://git.example/fleet"}
---
` + strings.NewReplacer("NAME", "flux-system", "PATH", "./clusters/prod").Replace(kustomization),
	}
	for i := range n {
		name := fmt.Sprintf("app-%05d", i)
		in := func(text string) string { return strings.NewReplacer("NAME", name, "NAMESPACE", "shop").Replace(text) }
		base, resources := "apps/"+name+"/base/", "deployment.yaml, settings.yaml, service.yaml"
		if i%10 == 0 {
			resources += ", hpa.yaml"
			files[base+"hpa.yaml"] = in(autoscaler)
		}
		files["clusters/prod/"+name+".yaml"] = strings.NewReplacer("NAME", name, "PATH", "./apps/"+name+"/prod").Replace(kustomization)
		files[base+"kustomization.yaml"] = "resources: [" + resources + "]\n"
		files[base+"deployment.yaml"] = strings.NewReplacer("NAMESPACE", "shop", "NAME", name).Replace(deployment)
		files[base+"settings.yaml"] = strings.NewReplacer("NAMESPACE", "shop", "NAME", name).Replace(configMap)
		files[base+"service.yaml"] = in("apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\nspec: {selector: {app.kubernetes.io/name: NAME}, ports: [{port: 80}]}\n")
		files["apps/"+name+"/prod/kustomization.yaml"] = "namespace: shop\nresources: [../base]\npatches: [{path: replicas.yaml}]\n" +
			"configMapGenerator: [{name: " + name + "-more, literals: [a=b]}]\n"
		files["apps/"+name+"/prod/replicas.yaml"] = in("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME, namespace: shop}\nspec: {replicas: 3}\n")
	}
	return files
}

// writeFiles writes them below a directory.
func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
