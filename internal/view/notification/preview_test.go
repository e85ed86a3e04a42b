package notification

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// TestThePastIsJoinedAndEnded: a fight that ended has its end, the same failure is no news, and what comes within a moment is one message.
func TestThePastIsJoinedAndEnded(t *testing.T) {
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	finding := func(s int, what journal.EntryKind) journal.Entry {
		return journal.Entry{At: at(s), App: key, What: what, Object: id, Path: ".spec.replicas", Git: 3, Live: 5, Writer: "scaler", Evidence: "recorded", Reason: "put back 3 times"}
	}
	entries := []journal.Entry{
		{At: at(0), App: key, What: journal.Applied, Revision: "main@sha1:a"},
		finding(1, journal.Corrected),
		finding(100, journal.Contested),
		finding(110, journal.Contested),
		finding(200, journal.Corrected),
		{At: at(300), App: key, What: journal.Failed, Reason: "kustomize build: no such file"},
		{At: at(310), App: key, What: journal.Failed, Reason: "kustomize build: no such file"},
		{At: at(320), App: key, What: journal.Suspended},
		{At: at(330), App: app.Key{Kind: "Kustomization", Namespace: "elsewhere", Name: "web"}, What: journal.Failed, Reason: "not read"}, // reading it would panic
		{At: at(400), App: key, What: journal.Applied, Revision: "main@sha1:b"},
	}
	helm := app.Key{Kind: "HelmRelease", Namespace: "shop", Name: "redis"}
	gone := func(s int, of app.Key, name, revision string) journal.Entry {
		return journal.Entry{At: at(s), App: of, What: journal.Pruned, Object: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}, Revision: revision, Reason: journal.LeftGit}
	}
	released := func(s int, action, revision string) journal.Entry {
		return journal.Entry{At: at(s), App: helm, What: journal.Released, Action: action, Revision: revision, Reason: "release shop/redis.v2 with chart redis@1.2.3"}
	}
	entries = append(
		entries,
		gone(500, key, "a", "main@sha1:b"), gone(501, helm, "with its app", ""), gone(501, key, "b", "main@sha1:b"), gone(700, key, "a", "main@sha1:c"),
		released(800, "upgrade", "1.2.3"), journal.Entry{At: at(801), App: helm, What: journal.Applied, Revision: "1.2.3"},
		journal.Entry{At: at(900), App: helm, What: journal.Degraded, Reason: "Deployment.apps shop/redis: 0 of 1 available"},
		journal.Entry{At: at(905), App: helm, What: journal.Degraded, Reason: "Deployment.apps shop/redis: 0 of 1 available"},
		journal.Entry{At: at(930), App: helm, What: journal.Degraded, Reason: "Deployment.apps shop/redis: CrashLoopBackOff", Because: []string{"CrashLoopBackOff"}},
		journal.Entry{At: at(960), App: key, What: journal.Recovered}, // of which nothing was said
		journal.Entry{At: at(1000), App: helm, What: journal.Recovered},
		released(1100, "rollback", "1.2.3"), released(1200, "uninstall", ""),
		journal.Entry{At: at(1300), App: key, What: journal.Held, Object: id, Path: ".", Git: map[string]any{"kind": "Deployment"}, Reason: "the deletion is reported only", Evidence: "unknown"},
	)
	past := &Past{Type: "slack", Alert: route.Alert{Sources: []route.Source{{Kind: "Kustomization", Name: "*", Namespace: "shop"}, {Kind: "HelmRelease", Name: "*", Namespace: "shop"}}}}
	cr := object.Object{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": "web", "namespace": "shop"}}
	chart := object.Object{"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"name": "redis", "namespace": "shop"}}
	r := &replay{apps: &appReader{known: map[app.Key]object.Object{key: cr, helm: chart}}, past: past, states: map[string]matter.State{}}
	for _, e := range joinPrunes(entries) {
		if err := r.add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	r.flush()
	var got []string
	for _, c := range past.Messages {
		got = append(got, c.Message.At.Format("15:04:05 ")+string(c.Message.Severity)+" "+c.Text())
	}
	const field = "Deployment.apps shop/web .spec.replicas: "
	want := []string{
		"12:00:01 info Applied revision: main@sha1:a\n" + field + "3 (Git) vs 5 (live, set by scaler): put back",
		"12:01:40 error " + field + "3 (Git) vs 5 (live, set by scaler): put back 3 times",
		"12:03:20 info " + field + "no longer contested, the field holds what Git wants or is no longer Git's", // the correction has the words of one five minutes before
		"12:05:00 error kustomize build: no such file",
		"12:06:40 info Applied revision: main@sha1:b",
		"12:08:20 info deleted, for Git no longer has it: ConfigMap shop/a, ConfigMap shop/b",
		"12:11:40 info deleted, for Git no longer has it: ConfigMap shop/a",
		"12:13:20 info Helm upgrade succeeded for release shop/redis.v2 with chart redis@1.2.3",
		"12:15:00 error degraded: Deployment.apps shop/redis: 0 of 1 available",
		"12:15:30 error degraded: Deployment.apps shop/redis: CrashLoopBackOff",
		"12:16:40 info healthy again; it was: degraded: Deployment.apps shop/redis: CrashLoopBackOff",
		"12:18:20 error Helm rollback succeeded for release shop/redis.v2 with chart redis@1.2.3",
		"12:20:00 info Helm uninstall succeeded for release shop/redis.v2 with chart redis@1.2.3",
		"12:21:40 error Deployment.apps shop/web is missing: the deletion is reported only",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m, is := messageOf(occurrence{Entry: finding(0, journal.Contested)}); !is || m.Severity != notify.Error || m.Evidence[notify.FactWriter] != "scaler" {
		t.Errorf("%v %+v", is, m)
	}
}
