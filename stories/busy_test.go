package stories

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// flurry is what controllers write while a workload rolls out: as long as it lasts, the object has always changed since truce looked. On a
// slow machine it lasts until truce has met some of it.
type flurry struct {
	http.RoundTripper
	lasts  time.Duration
	began  atomic.Int64 // UnixNano of the first write of truce; 0 before
	writes atomic.Int64
	write  func() error
}

// leastWrites is how many of them are needed to show anything.
const leastWrites = 3

// RoundTrip implements http.RoundTripper.
func (f *flurry) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/deployments/web") || f.write == nil {
		return f.RoundTripper.RoundTrip(r)
	}
	now := time.Now().UnixNano()
	f.began.CompareAndSwap(0, now)
	if time.Duration(now-f.began.Load()) < f.lasts || f.writes.Load() < leastWrites {
		f.writes.Add(1)
		if err := f.write(); err != nil {
			return nil, err
		}
	}
	return f.RoundTripper.RoundTrip(r)
}

func TestAnObjectThatChangesForAWhileIsWaitedFor(t *testing.T) {
	f := &flurry{lasts: time.Second}
	s := newStreetOver(t, webYAML("replicas: 3", "replicas: 0"), func(c *rest.Config) {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { f.RoundTripper = next; return f })
	})
	s.sync()
	n := 0
	other := s.client("controller")
	f.write = func() error {
		n++
		body := `{"status": {"conditions": [{"type": "Progressing", "status": "True", "message": "` + strings.Repeat("x", n) + `"}]}}`
		_, err := other.Patch(t.Context(), "web", types.MergePatchType, []byte(body), metav1.PatchOptions{}, "status")
		return err
	}
	s.commit(webYAML("replicas: 3", "replicas: 0", "nginx:1", "nginx:2"))
	s.sync()
	s.wants("0 nginx:2 fluent:1")
	if f.writes.Load() < leastWrites {
		t.Errorf("truce met %d writes of others: the story is about nothing", f.writes.Load())
	}
}
