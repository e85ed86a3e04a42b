package watch_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
)

const forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`

// listable is an API server whose ConfigMaps can be listed. It counts the whole lists; stream answers each watch.
type listable struct {
	lists  atomic.Int64
	stream func() (int, string)
}

func (s *listable) watch(t *testing.T) live.Watch {
	t.Helper()
	client, err := cluster.NewClient(&rest.Config{Host: "https://server.example", Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return watch.Watcher{Cluster: client}.Watch(t.Context(), live.Interest{GVK: configMaps, Depth: live.Full}, func(live.Event) {})
}

// RoundTrip implements http.RoundTripper.
func (s *listable) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	switch {
	case r.URL.Path == "/api/v1":
		return answer(r, http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["list"]}]}`), nil
	case q.Has("sendInitialEvents"):
		return answer(r, http.StatusUnprocessableEntity, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`), nil
	case q.Get("watch") != "":
		code, body := s.stream()
		return answer(r, code, body), nil
	}
	if q.Get("limit") != "1" { // which asks for the server's resourceVersion alone
		s.lists.Add(1)
	}
	return answer(r, http.StatusOK, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`), nil
}

func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// TestAKindThatCannotBeWatchedIsListedEverMoreRarely: each attempt comes to a list, and ends right after it.
func TestAKindThatCannotBeWatchedIsListedEverMoreRarely(t *testing.T) {
	for name, c := range map[string]struct {
		stream    func() (int, string)
		forbidden bool // what Err says at any time
	}{
		"the watch is refused": {func() (int, string) {
			return http.StatusForbidden, forbidden
		}, true},
		"a proxy ends each stream at once": {func() (int, string) { return http.StatusOK, "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &listable{stream: c.stream}
				w := s.watch(t)
				<-w.Synced()
				time.Sleep(time.Minute)
				if got := s.lists.Load(); got > 16 {
					t.Errorf("listed %d times within a minute", got)
				}
				if got := apierrors.IsForbidden(w.Err()); got != c.forbidden {
					t.Errorf("error %v", w.Err())
				}
				if _, err := refusal(w); apierrors.IsForbidden(err) != c.forbidden {
					t.Errorf("refused: %v", err)
				}
			})
		})
	}
}

func refusal(w live.Watch) (<-chan struct{}, error) {
	return w.(interface {
		Refused() (<-chan struct{}, error)
	}).Refused()
}

// TestARefusalEndsWhenAWatchBegins: the watch of a kind is permitted, refused, permitted, and refused again.
func TestARefusalEndsWhenAWatchBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var permitted atomic.Bool
		s := &listable{stream: func() (int, string) {
			if permitted.Load() {
				return http.StatusOK, ""
			}
			return http.StatusForbidden, forbidden
		}}
		permitted.Store(true)
		w := s.watch(t)
		<-w.Synced()
		for _, permit := range []bool{false, true, false} {
			changed, _ := refusal(w)
			permitted.Store(permit)
			select {
			case <-changed:
			case <-time.After(time.Hour):
			}
			if _, err := refusal(w); apierrors.IsForbidden(err) == permit {
				t.Errorf("permitted %t: %v", permit, err)
			}
		}
	})
}

// TestARefusalIsBelievedTheThirdTime: a role is replaced while watches end.
func TestARefusalIsBelievedTheThirdTime(t *testing.T) {
	for refusals, believed := range map[int64]bool{1: false, 2: false, 3: true} {
		synctest.Test(t, func(t *testing.T) {
			var watches atomic.Int64
			s := &listable{stream: func() (int, string) {
				if n := watches.Add(1) % (refusals + 1); n > 0 { // again and again, and one watch in between
					return http.StatusForbidden, forbidden
				}
				return http.StatusOK, ""
			}}
			changed, _ := refusal(s.watch(t))
			select {
			case <-changed:
				if !believed {
					t.Errorf("believed after %d", refusals)
				}
			case <-time.After(10 * time.Minute):
				if believed {
					t.Errorf("not believed after %d", refusals)
				}
			}
		})
	}
}
