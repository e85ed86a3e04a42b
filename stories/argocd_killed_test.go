package stories

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// hooksThatRun are hooks before and after an object, which the sandbox runs.
const hooksThatRun = `
-- app/all.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: before, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: "0"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {k: "1"}
---
apiVersion: batch/v1
kind: Job
metadata: {name: after, annotations: {argocd.argoproj.io/hook: PostSync}}
spec:
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: "0"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
`

// operate creates the Application web on the repository, which truce reaches through the toll.
func (s *stage) operate() {
	s.t.Helper()
	s.Apply(s.t, strings.ReplaceAll(s.applicationText("web", "app", automated), "file://"+s.repo.Dir, s.toll.git))
}

// succeeds waits until the operation of hooksThatRun has succeeded.
func (s *stage) succeeds() {
	s.t.Helper()
	s.operates("web", "Succeeded", "PreSync before Succeeded, PostSync after Succeeded")
}

// aroundHooks are the places of the requests that create a hook, and of the writes before them, which record that it runs.
func aroundHooks(requests []string) []int {
	var out []int
	last := 0
	for i, r := range requests {
		if !isWrite(r) {
			continue
		}
		if strings.Contains(r, "/jobs/") {
			out = append(out, last, i+1)
		}
		last = i + 1
	}
	return out
}

// killedAroundHooks plays a scene once for each of some requests about hooks, after which truce is killed, and has each hook run once. The scene gets
// a stage, and calls arm where the requests begin that are counted.
func killedAroundHooks(t *testing.T, requests []string, newStage func(t *testing.T) *stage, scene func(s *stage, arm func())) {
	t.Helper()
	points := aroundHooks(requests)
	if len(points) < 4 {
		t.Fatalf("of %d requests %v are about hooks:\n%s", len(requests), points, strings.Join(requests, "\n"))
	}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(points[:4]))) {
		t.Run(fmt.Sprintf("killed after %d %s", n, strings.Fields(requests[n-1])[0]), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			first, last := s.Watch(t, jobs, s.ns, "before"), s.Watch(t, jobs, s.ns, "after")
			scene(s, func() { s.toll.arm(map[int]fault{n: death{after, s.kill}}) })
			ranOnce(t, first, last)
		})
	}
}

// ranOnce checks that there was one object of the first hook, and one of the last.
func ranOnce(t *testing.T, first, last *kubetest.Recorder) {
	t.Helper()
	if ran := len(uidsOf(first)); ran != 1 {
		t.Errorf("the first hook ran %d times", ran)
	}
	if ran := len(uidsOf(last)); ran != 1 {
		t.Errorf("the last hook ran %d times", ran)
	}
}

func TestAnOperationGoesOnWithItsHooksWhereAKilledTruceHasLeftThem(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	binary := buildTruce(t)
	var requests []string
	t.Run("no kill", func(t *testing.T) {
		s := newStage(t, c, binary, hooksThatRun)
		s.operate()
		s.toll.disarm()
		s.start()
		s.succeeds()
		requests = s.toll.requests()
	})
	killedAroundHooks(t, requests, func(t *testing.T) *stage { return newStage(t, c, binary, hooksThatRun) }, func(s *stage, arm func()) {
		arm()
		s.operate()
		s.begin()
		s.crashed()
		s.toll.disarm()
		s.begin()
		s.succeeds()
		s.quiet()
	})
}

// hooksOfAnEnd are hooks around the deletion of an object, which the sandbox runs.
var hooksOfAnEnd = strings.NewReplacer("PreSync", "PreDelete", "PostSync", "PostDelete").Replace(hooksThatRun)

// deletes has the Application of hooksOfAnEnd deleted, and does not wait for that.
func (s *stage) deletes() {
	s.t.Helper()
	s.kubectl("delete", "application.argoproj.io/web", "--wait=false")
}

func (s *stage) isDeleted() {
	s.t.Helper()
	s.until("the end of the Application", func() bool { return s.get(applications, "web") == nil })
	if s.get(configmaps, "web") != nil {
		s.t.Error("the object is still there")
	}
}

func TestADeletionGoesOnWithItsHooksWhereAKilledTruceHasLeftThem(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t)
	installCRDs(t, cluster)
	binary := buildTruce(t)
	begin := func(s *stage) {
		s.operate()
		s.toll.disarm()
		s.start()
		s.heldBy("web", preDeleteFinalizer, preDeleteFinalizer+"/cleanup", postDeleteFinalizer, postDeleteFinalizer+"/cleanup")
		s.quiet()
	}
	var requests []string
	t.Run("no kill", func(t *testing.T) {
		s := newStage(t, cluster, binary, hooksOfAnEnd)
		begin(s)
		s.toll.forget()
		s.deletes()
		s.isDeleted()
		requests = s.toll.requests()
	})
	killedAroundHooks(t, requests, func(t *testing.T) *stage { return newStage(t, cluster, binary, hooksOfAnEnd) }, func(s *stage, arm func()) {
		begin(s)
		arm()
		s.deletes()
		s.crashed()
		s.toll.disarm()
		s.begin()
		s.isDeleted()
	})
	for _, c := range []faultClass{{name: "409", effect: refused, code: http.StatusConflict}, {name: "killed", effect: killed, when: before}} {
		t.Run(c.name+" instead of the end of the finalizers", func(t *testing.T) {
			t.Parallel()
			s := newStage(t, cluster, binary, hooksOfAnEnd)
			first, last := s.Watch(t, jobs, s.ns, "before"), s.Watch(t, jobs, s.ns, "after")
			begin(s)
			f := &ofFinalizers{fault: c.on(s)}
			s.toll.arm(always(f))
			s.deletes()
			if c.kills() {
				s.crashed()
				s.toll.disarm()
				s.begin()
			}
			s.isDeleted()
			s.quiet()
			ranOnce(t, first, last)
			if !f.struck.Load() {
				t.Error("no request took the finalizers off")
			}
		})
	}
}

// ofFinalizers is a fault of the first request that takes finalizers off an Application.
type ofFinalizers struct {
	fault
	struck atomic.Bool
}

// strike implements fault.
func (f *ofFinalizers) strike(w http.ResponseWriter, r *http.Request, server http.Handler) {
	body, err := io.ReadAll(wholeBody(r))
	if err == nil && strings.HasSuffix(r.URL.Path, "/applications/web") && strings.Contains(string(body), "/metadata/finalizers") && !f.struck.Swap(true) {
		f.fault.strike(w, r, server)
		return
	}
	server.ServeHTTP(w, r)
}

// always is a fault at each of the next requests.
func always(f fault) map[int]fault {
	const enough = 1000
	out := map[int]fault{}
	for i := range enough {
		out[i+1] = f
	}
	return out
}
