package stories

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/metrics"
)

// bomb is an assessor of health that panics at objects of that name.
type bomb struct {
	health.Assessor
	armed *atomic.Bool
}

func (b bomb) Assess(o object.Object) health.Status {
	if b.armed.Load() && o.Name() == "bomb" {
		panic("a part is broken")
	}
	return b.Assessor.Assess(o)
}

// TestAPanicIsTheMatterOfOneObject: its app reports it, and everything else goes on.
func TestAPanicIsTheMatterOfOneObject(t *testing.T) {
	w := offWorld(t, `
-- apps/bad/bad.yaml --
`+configMap("bomb")+"---\n"+configMap("calm")+`
-- apps/good/good.yaml --
`+configMap("good"))
	var armed atomic.Bool
	armed.Store(true)
	w.alter = func(e *reconcile.Engine) {
		sound := e.Health
		e.Health = map[health.Rules]health.Assessor{}
		for rules, a := range sound {
			e.Health[rules] = bomb{a, &armed}
		}
	}
	m := metrics.NewMetrics("test")
	w.run(compose.RunOptions{Metrics: m})
	w.app("bad", "./apps/bad", defaultSpec)
	w.app("good", "./apps/good", defaultSpec)
	t.Log(w.fails("bad", "bomb", "panic: a part is broken", "log has the stack"))
	w.ready("good")
	there := func(*unstructured.Unstructured) bool { return true }
	w.await(w.Watch(t, configmaps, w.ns, "calm"), there)
	d := w.Watch(t, configmaps, w.ns, "calm")
	w.putBack(d, "calm", "by hand", "calm")
	scrape := httptest.NewRecorder()
	m.Handler().ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(scrape.Body.String(), `truce_panics_total{work="object"}`) {
		t.Errorf("no panic is counted:\n%s", scrape.Body)
	}
	armed.Store(false)
	w.check("bad")
	w.ready("bad")
}
