package controller

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source/cloud"
)

// guarded is a front of apps with a finalizer, and those of another cluster.
type guarded struct {
	refusing
	remote bool
}

func (f guarded) App(cr object.Object, _ policy.Policy) app.App {
	a := app.App{Key: app.Key{Kind: "Kustomization", Namespace: "ns", Name: cr.Name()}, UID: cr.UID(), Generation: cr.Generation(), Policy: policy.Policy{Mode: policy.Enforce}}
	if a.GuardFinalizer = "truce.dev/guard"; f.remote {
		a.Kubeconfig.Secret = "far"
	}
	a.Deleting = cr.At("metadata", "deletionTimestamp") != nil
	return a
}

// unopened are other clusters, none of which is opened.
type unopened struct{ Remotes }

func (unopened) Clouds() *cloud.Exchange { return nil }

// TestWhatKeepsAnAppFromRunningIsReported: the app's engine does not hear of it, and would report its last run for ever, or nothing.
func TestWhatKeepsAnAppFromRunningIsReported(t *testing.T) {
	for name, s := range map[string]struct {
		remote, deleting bool
		says             string
	}{
		"the Secret of a kubeconfig cannot be read": {remote: true, says: `secrets "far" is forbidden`},
		"nor while it is deleted":                   {remote: true, deleting: true, says: `secrets "far" is forbidden`},
		"its finalizer cannot be written":           {says: "write the finalizer truce.dev/guard: "},
	} {
		t.Run(name, func(t *testing.T) {
			c, says, _ := speaking(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch isSecret := strings.Contains(q.URL.Path, "/secrets/"); {
				case !isSecret && answersDiscovery(w, q):
					return
				case strings.HasSuffix(q.URL.Path, "/status"):
					_ = json.NewEncoder(w).Encode(resource())
					return
				}
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "secrets \"far\" is forbidden: no"}`))
			}))
			t.Cleanup(server.Close)
			client, err := cluster.NewClient(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			c.Cluster, c.Remotes = client, unopened{}
			c.targets.follower.watcher = &failing{}
			c.targets.follower.start(t.Context())
			f := guarded{refusing{says, &report.Report{}}, s.remote}
			cr := resource()
			if s.deleting {
				cr.Metadata()["deletionTimestamp"] = "2026-11-21T10:00:00Z"
			}
			key := f.App(cr, policy.Policy{}).Key
			c.onAppEvent(f, live.Event{GVK: cr.GVK(), ID: cr.ID(), Object: cr})
			c.sourceSet[app.SourceKey{}] = &sourceEntry{state: dialect.SourceState{Err: errors.New("not fetched")}}
			if again := c.reconcileApp(t.Context(), key); again != retryObject {
				t.Errorf("it is tried again after %s", again)
			}
			c.writeStatus(t.Context(), key)
			if r := f.reported; r.Stage != report.Admit || r.Reason != report.ClusterFailed || !strings.Contains(r.Message, s.says) || r.Running {
				t.Errorf("reported %s %s %q, running %t", r.Stage, r.Reason, r.Message, r.Running)
			}
			if r := c.report(key); r.Reason != report.ClusterFailed {
				t.Errorf("the page shows %s", r.Reason)
			}
			c.noteObstacle(key, "kubeconfig", nil)
			c.noteObstacle(key, "finalizer", nil)
			if r := c.report(key); r.Reason == report.ClusterFailed {
				t.Errorf("it is reported though it is over: %q", r.Message)
			}
		})
	}
}
