package watch_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/client-go/rest"
)

// TestAStreamedListWithoutAnEndIsListed loses each bookmark: the first list does not end.
func TestAStreamedListWithoutAnEndIsListed(t *testing.T) {
	t.Parallel()
	k := kubetest.Start(t)
	ns := k.Namespace(t)
	k.Apply(t, configMap(ns, "a", "v"))
	streamed := make(chan struct{}, 1)
	c := withoutBookmarks(t, k.Config(), streamed)
	s, w := follow(t, c, ns, live.Interest{GVK: configMaps, Namespace: ns, Depth: live.Full})
	synced(t, w)
	select {
	case <-streamed:
	default:
		t.Error("no list was streamed")
	}
	s.await(here("a"))
	k.Apply(t, configMap(ns, "b", "v"))
	s.await(here("b"))
}

// withoutBookmarks is a client of the API server whose watches get no bookmarks. It notes that a list is streamed.
func withoutBookmarks(t *testing.T, config *rest.Config, streamed chan<- struct{}) *cluster.Client {
	t.Helper()
	at, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(at)
	if proxy.Transport, err = rest.TransportFor(config); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("watch") == "" {
			proxy.ServeHTTP(w, r)
			return
		}
		if query.Get("sendInitialEvents") == "true" {
			select {
			case streamed <- struct{}{}:
			default:
			}
		}
		withoutEnd(w, r, at, proxy.Transport)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	c, err := cluster.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// withoutEnd passes a watch on, event by event, without its bookmarks.
func withoutEnd(w http.ResponseWriter, r *http.Request, at *url.URL, transport http.RoundTripper) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := r.Clone(ctx)
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", at.Scheme, at.Host
	out.Header.Set("Accept", "application/json")
	out.Header.Set("Accept-Encoding", "identity")
	answer, err := transport.RoundTrip(out)
	if err != nil {
		return // the client has gone
	}
	defer answer.Body.Close()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.StatusCode)
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if strings.Contains(line, `"type":"BOOKMARK"`) {
			continue
		}
		if _, err := w.Write([]byte(line)); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}
