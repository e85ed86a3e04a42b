package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// TestAnAppThatOnlyAnOutdatedListShowsIsNotMadeAgain deletes an app, and then has all lists show it for a while, as those of a server do that has
// fallen behind. What truce made for it would stay when the lists are right again.
func TestAnAppThatOnlyAnOutdatedListShowsIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	s := newStage(t, c, buildTruce(t), shop)
	s.app("")
	s.begin()
	s.ready("web")
	s.quiet()
	past := s.version()
	s.delete(kustomizations, s.ns, "web")
	s.until("the end of the app", func() bool { return !s.isThere(kustomizations, "web") })
	s.quiet()
	s.toll.watches.set(func(x *watches) { x.past = past })
	s.toll.watches.expire()
	s.until("truce to start over", func() bool { return strings.Contains(s.truce.Load().said(), "went back to an older state") })
	s.quiet()
	s.toll.watches.mend()
	s.toll.watches.expire()
	s.quiet()
	if left := s.ours(); len(left) > 0 {
		t.Errorf("%d objects of an app that is gone, the first is %s %s", len(left), left[0]["kind"], left[0].Name())
	}
}

// TestWhatAnOutdatedListDoesNotShowYetHolds suspends an app and changes an object of it, and then has all lists show both as they were before.
func TestWhatAnOutdatedListDoesNotShowYetHolds(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	s := newStage(t, c, buildTruce(t), shop)
	s.app("")
	s.begin()
	s.ready("web")
	s.quiet()
	past := s.version()
	s.patch(kustomizations, "web", map[string]any{"spec": map[string]any{"suspend": true}}, "kubectl-patch")
	s.quiet()
	s.patch(configmaps, "a", map[string]any{"data": map[string]any{"v": "by hand"}}, "kubectl-edit")
	s.quiet()
	before := len(s.wrote())
	s.toll.watches.set(func(x *watches) { x.past = past })
	s.toll.watches.expire()
	s.until("truce to start over", func() bool { return strings.Contains(s.truce.Load().said(), "went back to an older state") })
	s.quiet()
	s.toll.watches.mend()
	s.toll.watches.expire()
	s.quiet()
	if wrote := s.wrote()[before:]; len(wrote) > 0 {
		t.Errorf("writes to objects of a suspended app: %q", wrote)
	}
}

// TestAnAppMadeAfterDataWentBackIsPruned makes an app only after truce has started over. Its first run fails, with one of its objects made; the next
// commit drops that object. Nothing that the app has is from before, so nothing is kept for an interval.
func TestAnAppMadeAfterDataWentBackIsPruned(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	s := newStage(t, c, buildTruce(t), shop+`
-- later/kustomization.yaml --
namespace: NAMESPACE
resources: [x.yaml, service.yaml]
-- later/x.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
-- later/service.yaml --
apiVersion: v1
kind: Service
metadata: {name: later}
spec: {selector: {app: later}, ports: [{port: 1000000}]}
-- later/y.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: y}
`)
	s.app("")
	s.begin()
	s.ready("web")
	s.quiet()
	past := s.version()
	s.patch(configmaps, "a", map[string]any{"data": map[string]any{"v": "by hand"}}, "kubectl-edit")
	s.quiet()
	s.toll.watches.set(func(x *watches) { x.past = past })
	s.toll.watches.expire()
	s.until("truce to start over", func() bool { return strings.Contains(s.truce.Load().said(), "went back to an older state") })
	s.toll.watches.mend()
	s.toll.watches.expire()
	s.quiet()
	s.named("later", "./later", "retryInterval: 1h")
	s.fails("later", "1000000")
	s.has(configmaps, "x", exists)
	s.edit("later/kustomization.yaml", "[x.yaml, service.yaml]", "[y.yaml]")
	s.look()
	s.ready("later")
	s.goes(configmaps, "x")
}
