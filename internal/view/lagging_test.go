package view_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/view"
)

// TestAListDoesNotSayMoreThanTheClusterHolds: an object went after the status was written, and no controller has seen it. A Job goes by itself.
func TestAListDoesNotSayMoreThanTheClusterHolds(t *testing.T) {
	cr, r := states()["synced"].resource(t, kustomizationText)
	for kind, want := range map[string]words{
		"Deployment": {"OutOfSync", "Missing", "Deployment.apps shop/web: not in the cluster, or without truce's label"},
		"Job":        {"Synced", "Healthy", ""},
	} {
		entry := map[string]any{"id": "shop_web_apps_Deployment", "v": "v1"}
		if kind == "Job" {
			entry["id"] = "shop_web_batch_Job"
		}
		status, _ := cr["status"].(map[string]any)
		status["inventory"] = map[string]any{"entries": []any{entry}}
		all := view.SummariesOf(r.App, cr, map[object.ID]health.Status{})
		if got := inState(all[0].State); got != want {
			t.Errorf("without the %s: %q, want %q", kind, got, want)
		}
	}
}

// TestAListSaysThatNoControllerGivesASignOfLife: what it shows of truce's words is from before. The JSON is for programs.
func TestAListSaysThatNoControllerGivesASignOfLife(t *testing.T) {
	cr, r := states()["synced"].resource(t, kustomizationText)
	for args, noted := range map[string]bool{"app list": true, "app list -o wide": true, "app list -o json": false} {
		for _, doubt := range []string{"", "the controller of ConfigMap home/truce seems not to run"} {
			var out, err bytes.Buffer
			env := cli.Environment{Out: &out, Err: &err, Program: "truce", Args: append(strings.Fields(args), "-n", "apps"), Getenv: func(string) string { return "" }}
			cli.Execute(t.Context(), env, cli.Backend{Clusters: oneApp{key: r.App, cr: cr, doubt: doubt}})
			want := ""
			if noted && doubt != "" {
				want = "note: " + doubt + ": SYNC and MESSAGE are as they were last written\n"
			}
			if got := err.String(); got != want {
				t.Errorf("%s: %q, want %q", args, got, want)
			}
		}
	}
}
