package route_test

import (
	"regexp"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// TestListsMatchTheWordsOfFlux: each expression stands in Alerts that were written for Flux's controllers, and says there what it says here.
func TestListsMatchTheWordsOfFlux(t *testing.T) {
	of := func(kind, reason, text string) notify.Message {
		return notify.Message{Event: notify.Event{Severity: notify.Info, Reason: reason, Text: text, Revision: "main@sha1:abc"}, About: object.ID{Kind: kind, Namespace: "shop", Name: "web"}}
	}
	success := of("Kustomization", "ReconciliationSucceeded", "Applied revision: main@sha1:abc")
	changed := success
	changed.Evidence = map[string]string{notify.FactChanged: "created ConfigMap shop/a, Namespace shop; configured Deployment.apps shop/web, and 3 more"}
	pruned := of("Kustomization", "Pruned", "deleted, for Git no longer has it: ConfigMap shop/a")
	pruned.Evidence = map[string]string{notify.FactObject: "ConfigMap shop/a"}
	corrected := of("Kustomization", "DriftCorrected", "put back")
	corrected.Matter.Object = "Deployment.apps shop/web"
	for _, c := range []struct {
		expression string
		message    notify.Message
		want       bool
	}{
		{".*[fF]ailed.*", of("Kustomization", "BuildFailed", "apps/web: no such file"), true},
		{".*[fF]ailed.*", of("Kustomization", "HealthCheckFailed", "timeout waiting for Deployment.apps shop/web"), true},
		{".*[fF]ailed.*", of("Kustomization", "ReconciliationFailed", "Deployment.apps shop/web: spec.replicas: Invalid value"), true},
		{".*[fF]ailed.*", of("GitRepository", "GitOperationFailed", "connection refused"), true},
		{".*[fF]ailed.*", of("Bucket", "BucketOperationFailed", "connection refused"), true},
		{".*[fF]ailed.*", success, false},
		{"^Dependencies.*", of("Kustomization", "DependencyNotReady", "dependency 'shop/db' is not ready"), true},
		{".*dependency.*not ready", of("Kustomization", "DependencyNotReady", "dependency 'shop/db' is not ready"), true},
		{"^Dependencies.*", of("Kustomization", "BuildFailed", "Dependencies"), true},
		{"^Reconciliation finished in .*", success, true},
		{"^Reconciliation finished in .*", changed, false},
		{"ConfigMap/shop/a created", changed, true},
		{"^Namespace/shop created$|(?m)^Deployment/shop/web configured$", changed, true},
		{"and/3|/3 more", changed, false},
		{"ConfigMap/shop/a deleted", pruned, true},
		{"Deployment/shop/web configured", corrected, true},
		{"^Health check passed in.*", of("Kustomization", "HealthRecovered", "healthy again"), true},
		{"Cluster state of release shop/web has drifted", of("HelmRelease", "DriftDetected", "x"), true},
		{"^stored artifact with revision 'main@sha1:abc'", of("OCIRepository", "NewArtifact", "stored artifact for digest 'main@sha1:abc'"), true},
		{"^stored fetched index of", of("HelmRepository", "NewArtifact", "stored artifact: revision 'sha256:abc'"), true},
		{"Reconciliation finished", of("Application", "ReconciliationSucceeded", "x"), false},
	} {
		listens := route.Alert{Sources: []route.Source{{Kind: c.message.About.Kind, Namespace: "shop", Name: "*"}}}
		include, exclude := listens, listens
		include.Include, exclude.Exclude = []*regexp.Regexp{regexp.MustCompile(c.expression)}, []*regexp.Regexp{regexp.MustCompile(c.expression)}
		if got := include.Takes(c.message); got != c.want {
			t.Errorf("%q includes %s %s: %v", c.expression, c.message.Reason, c.message.Text, got)
		}
		if got := exclude.Takes(c.message); got == c.want {
			t.Errorf("%q excludes %s %s: %v", c.expression, c.message.Reason, c.message.Text, !got)
		}
	}
}
