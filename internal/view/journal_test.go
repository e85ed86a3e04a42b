package view

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// published is a ConfigMap that says how an instance runs: in which namespace, for which others, and where its page is.
type published struct {
	home, namespaces, page string
	noToken, ended         bool
}

// publishing answers as an API server that has these ConfigMaps, their Secrets, and the Leases of those that have ended.
func publishing(t *testing.T, all ...published) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var items []any
		for _, p := range all {
			if r.URL.Path == "/api/v1/namespaces/"+p.home+"/secrets/"+instance.Secret && !p.noToken {
				answer(w, map[string]any{
					"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": instance.Secret, "namespace": p.home},
					"data": map[string]any{"token": base64.StdEncoding.EncodeToString([]byte(p.home))},
				})
				return
			}
			if r.URL.Path == "/apis/coordination.k8s.io/v1/namespaces/"+p.home+"/leases/"+instance.LeaseName && p.ended {
				answer(w, map[string]any{
					"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": instance.LeaseName, "namespace": p.home},
					"spec": map[string]any{"holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T12:00:00.000000Z"},
				})
				return
			}
			items = append(items, map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"namespaces": p.namespaces, "page": p.page},
				"metadata": map[string]any{"name": instance.ConfigMap, "namespace": p.home, "labels": map[string]any{instance.Label: "true"}},
			})
		}
		if r.URL.Path == "/api/v1/configmaps" {
			answer(w, map[string]any{"apiVersion": "v1", "kind": "ConfigMapList", "metadata": map[string]any{}, "items": items})
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		answer(w, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound, "message": r.URL.Path + " not found"})
	}))
	t.Cleanup(server.Close)
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return &Cluster{cluster: client}
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the test sees what comes of it
}

// page serves a journal to those who have the token of a namespace.
func page(t *testing.T, home string, entries ...journal.Entry) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			return
		}
		if r.URL.Path != "/journal" || r.Header.Get("Authorization") != "Bearer "+home {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		for _, e := range entries {
			_ = json.NewEncoder(w).Encode(e) // as above
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// applied is an entry about an app of a namespace, in a minute.
func applied(namespace, by string, minute int) journal.Entry {
	return journal.Entry{At: time.Date(2026, 1, 2, 12, minute, 0, 0, time.UTC), What: journal.Applied, App: app.Key{Kind: "Kustomization", Namespace: namespace, Name: "web"}, Revision: by}
}

func revisions(entries []journal.Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Revision)
	}
	return strings.Join(out, " ")
}

// TestATenantsConfigMapIsNotBelieved: who may write ConfigMaps in a namespace may label one as a controller's.
func TestATenantsConfigMapIsNotBelieved(t *testing.T) {
	installed := published{home: "truce-system", page: page(t, "truce-system", applied("shop", "real", 1))}
	forged := page(t, "acme", applied("shop", "forged", 1), applied("acme", "forged", 2))
	for name, acme := range map[string]published{
		"without a Secret":                 {home: "acme", page: forged, noToken: true},
		"with a Secret":                    {home: "acme", page: forged},
		"that lists its namespace first":   {home: "acme", namespaces: "acme,shop", page: forged},
		"that lists another one first":     {home: "acme", namespaces: "shop,acme", page: forged},
		"with a page on another machine":   {home: "acme", page: "http://192.0.2.1:1"},
		"with a page that is no address":   {home: "acme", page: "http://127.0.0.1:1/?"},
		"with a page that does not answer": {home: "acme", page: "http://127.0.0.1:1"},
	} {
		c := publishing(t, acme, installed)
		for _, namespace := range []string{"shop", ""} {
			got, err := c.Journal(t.Context(), journal.Query{App: app.Key{Namespace: namespace}})
			if revisions(got) != "real" || err != nil {
				t.Errorf("%s: of namespace %q: %s, %v", name, namespace, revisions(got), err)
			}
		}
	}
}

// TestAControllerElsewhereIsAskedWhereItAloneSaysThatItWorks as installed in a namespace of another name; one of which the ConfigMap alone is left is none.
func TestAControllerElsewhereIsAskedWhereItAloneSaysThatItWorks(t *testing.T) {
	elsewhere := published{home: "gitops", page: page(t, "gitops", applied("shop", "elsewhere", 1))}
	for name, all := range map[string][]published{
		"alone":                      {elsewhere},
		"beside one that has ended":  {{home: "truce-system", page: "http://127.0.0.1:1", ended: true}, elsewhere},
		"beside one without a token": {{home: "a", page: "http://127.0.0.1:1", noToken: true}, elsewhere},
		"beside one for others":      {{home: "truce-system", namespaces: "truce-system", page: page(t, "truce-system", applied("shop", "others", 1))}, elsewhere},
	} {
		got, err := publishing(t, all...).Journal(t.Context(), journal.Query{App: app.Key{Namespace: "shop"}})
		if revisions(got) != "elsewhere" || err != nil {
			t.Errorf("%s: %s, %v", name, revisions(got), err)
		}
	}
	unknown := published{home: "truce-system", page: "http://127.0.0.1:1"}
	if got, err := publishing(t, unknown, elsewhere).Journal(t.Context(), journal.Query{App: app.Key{Namespace: "shop"}}); err == nil {
		t.Errorf("beside one that is not known to have ended: %s", revisions(got))
	}
	if got, err := publishing(t, published{home: "a", page: "http://192.0.2.1:1"}).Journal(t.Context(), journal.Query{}); err == nil || !strings.Contains(err.Error(), "not on this machine") {
		t.Errorf("%s, %v", revisions(got), err)
	}
}

// TestAllNamespacesAreAskedOfAllInstances: of several, each has the journal of its namespaces. What is not read is said beside what is.
func TestAllNamespacesAreAskedOfAllInstances(t *testing.T) {
	a := published{home: "a", namespaces: "a", page: page(t, "a", applied("a", "first", 1), applied("a", "third", 3))}
	b := published{home: "b", namespaces: "b", page: page(t, "b", applied("b", "second", 2), applied("a", "forged", 4))}
	got, err := publishing(t, a, b).Journal(t.Context(), journal.Query{})
	if diff := cmp.Diff("first second third", revisions(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	b.noToken = true
	got, err = publishing(t, a, b).Journal(t.Context(), journal.Query{})
	var unread *UnreadError
	if !errors.As(err, &unread) || len(unread.Causes) != 1 || revisions(got) != "first third" || !strings.Contains(err.Error(), "ConfigMap b/truce-controller") {
		t.Errorf("without the token of one: %s, %v", revisions(got), err)
	}
}

// TestAJournalThatIsNotAnsweredEndsNoComparison: what it says is only added to what the cluster holds.
func TestAJournalThatIsNotAnsweredEndsNoComparison(t *testing.T) {
	t.Parallel()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(hangs.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 6*journalWithin)
	defer cancel()
	got, err := publishing(t, published{home: "truce-system", page: hangs.URL}).pastOf(ctx, app.Key{Namespace: "shop", Name: "web"})
	if len(got) > 0 || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("%v, %v; the command: %v", got, err, ctx.Err())
	}
}
