package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pause is something that happens while truce is down.
type pause struct {
	name string
	spec string // further lines of the Kustomization
	do   func(*stage)
	want func(*stage) // what must come of it
	back bool         // all is then as it was before
	calm bool         // truce writes to no object of a user
}

// pauses all begin with the shop at rest, and truce ended by SIGTERM.
var pauses = []pause{
	{
		name: "nothing happens", calm: true, back: true,
		do:   func(*stage) {},
		want: func(s *stage) { s.checked() },
	},
	{
		name: "an object is scaled", back: true,
		do:   func(s *stage) { s.kubectl("scale", "deployment/web", "--replicas=5") },
		want: func(s *stage) { s.awaitCount(3) },
	},
	{
		name: "an object is scaled and remediation is off", calm: true, spec: "remediation: {remediate: false}",
		do: func(s *stage) { s.kubectl("scale", "deployment/web", "--replicas=5") },
		want: func(s *stage) {
			s.condition("web", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool { return contains(c["message"], "replicas") })
			s.quiet()
			s.awaitCount(5)
		},
	},
	{
		name: "objects are deleted", back: true,
		do:   func(s *stage) { s.kubectl("delete", "deployment/web", "configmap/a", "service/web") },
		want: func(s *stage) { s.awaitCount(3) },
	},
	{
		name: "our mark is taken off", back: true,
		do: func(s *stage) {
			s.kubectl("label", "deployment/web", "configmap/a", "truce.dev/part-of-")
			s.kubectl("patch", "configmap/b", "--type=json", `-p=[{"op":"remove","path":"/metadata/labels"},{"op":"replace","path":"/data/colour","value":"black"}]`)
		},
		want: func(*stage) {},
	},
	{
		name: "the traces of our ownership are wiped out", back: true,
		do: func(s *stage) {
			s.kubectl("patch", "deployment/web", "configmap/a", "--type=json", `-p=[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`)
		},
		want: func(*stage) {},
	},
	{
		name: "an autoscaler appears and scales",
		do: func(s *stage) {
			s.Apply(s.t, strings.ReplaceAll(autoscaler, "NAMESPACE", s.ns))
			s.load(6)
			s.awaitCount(6)
		},
		want: func(s *stage) {
			s.ready("web")
			s.quiet()
			s.load(8)
			s.awaitCount(8)
			s.quiet()
			s.counts(s.t, 0, 3)
		},
	},
	{
		name: "Git moves on",
		do:   func(s *stage) { s.edit("app/web.yaml", "nginx:1.21.0", "nginx:1.22.0") },
		want: func(s *stage) {
			s.await(s.deployments, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
			s.ready("web")
			s.counts(s.t, 0, 3)
		},
	},
	{
		name: "the app is deleted",
		do:   func(s *stage) { s.kubectl("delete", "kustomization/web", "--wait=false") },
		want: func(s *stage) { s.until("the end of the objects", func() bool { return len(s.ours()) == 0 }) },
	},
}

func TestWhatHappensWhileTruceIsDownIsSeenAfterwards(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	binary := buildTruce(t)
	for _, p := range pauses {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c, binary, shop)
			s.app(p.spec)
			s.begin()
			s.ready("web")
			s.quiet()
			was := s.picture()
			s.end()
			before := len(s.wrote())
			p.do(s)
			s.begin()
			p.want(s)
			if p.back {
				s.looksLike(was)
				s.ready("web")
				s.quiet()
				s.accounted(whole)
			}
			if got := s.wrote()[before:]; p.calm && len(got) > 0 {
				t.Errorf("truce wrote to users' objects: %q", got)
			}
		})
	}
}

func TestAServerThatIsOutOfReachForAWhileHidesNothing(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	s := newStage(t, c, buildTruce(t), shop)
	s.app("")
	s.begin()
	s.ready("web")
	s.quiet()
	was, before := s.picture(), len(s.wrote())
	const outage = 2 * time.Second // truce tries again in vain
	for i, do := range []func(){
		func() {},
		func() { s.kubectl("scale", "deployment/web", "--replicas=5") },
		func() { s.kubectl("delete", "configmap/a", "service/web") },
		func() { s.kubectl("label", "configmap/b", "truce.dev/part-of-") },
	} {
		s.toll.cut()
		do()
		kubetest.Span(s.ctx, outage)
		s.toll.mend()
		s.looksLike(was)
		if i == 0 {
			s.checked()
			if got := s.wrote()[before:]; len(got) > 0 {
				t.Errorf("an outage alone made truce write: %q", got)
			}
		}
	}
	s.toll.cut()
	s.edit("app/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
	s.look()
	s.toll.mend()
	s.ready("web")
	s.quiet()
	s.accounted(whole)
	if err := s.truce.Load().signal(0); err != nil {
		t.Error(err)
	}
}

// awaitCount waits until the Deployment asks for n replicas.
func (s *stage) awaitCount(n int64) {
	s.t.Helper()
	s.await(s.deployments, func(o *unstructured.Unstructured) bool { return replicas(o) == n })
}

// wrote lists the writes of truce to users' objects, by the API server's audit log.
func (s *stage) wrote() []string {
	s.t.Helper()
	var out []string
	for _, e := range s.Audit(s.t, func(e kubetest.Entry) bool {
		return e.Namespace == s.ns && e.Writes() && strings.HasPrefix(e.Agent, "truce/") && !strings.HasPrefix(e.Name, "truce-inventory-") && e.Name != "truce-controller" &&
			slices.ContainsFunc(kindsOfScenes, func(k schema.GroupVersionResource) bool { return k.GroupResource() == e.Resource })
	}) {
		out = append(out, fmt.Sprintf("%s %s/%s as %s: %s", e.Verb, e.Resource.Resource, e.Name, e.Manager, e.Request))
	}
	return out
}

// checked waits for a full check that truce begins from now on, and for all that comes of it.
func (s *stage) checked() {
	s.t.Helper()
	s.intervals("web", 1)
	s.quiet()
}
