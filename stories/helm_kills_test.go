package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// helmScene is an action of Helm's in the middle of which truce is killed.
type helmScene struct {
	name, chart, spec string
	before            func(*stage) // what is there by then; nil for nothing
	begins            func(*stage) // nil: the install is the action
	ends              func(*stage)
	dangerous         func(request string) bool // at which requests the short form kills, the first and the last of them
}

// helmOutcome is what is the same after each kill as without one.
type helmOutcome struct {
	Stored, Failures, Forced string
	Conditions               []string
	Jobs                     map[string]int // how often each hook ran
}

// failsAfter is chartWithRemedies with a hook that fails after one action.
func failsAfter(action string) string {
	return strings.ReplaceAll(strings.ReplaceAll(chartWithRemedies, "helm.sh/hook: post-upgrade", "helm.sh/hook: "+action), `upgrade: "0"`, `upgrade: "3"`)
}

// helmScenes are the actions that more than one write ends.
var helmScenes = []helmScene{
	{
		name: "an uninstall as a remedy", chart: failsAfter("post-install"), spec: "  install: {remediation: {retries: 1, remediateLastFailure: true}}\n",
		ends: func(s *stage) {
			s.helmReason("Stalled", "True", "RetriesExceeded", "Failed to install after 2 attempt(s)")
			s.helmReason("Remediated", "True", "UninstallSucceeded")
		},
		dangerous: func(r string) bool {
			return isWrite(r) && strings.HasPrefix(r, "DELETE") && strings.Contains(r, "/secrets/sh.helm.release.")
		},
	},
	{
		name: "a forced upgrade that fails", chart: chartWithRemedies, spec: "  upgrade: {remediation: {retries: 0, remediateLastFailure: true}}\n",
		before: func(s *stage) {
			s.world.released("web", 1, "1.0.0")
			s.chartFails("upgrade")
			s.helmReason("Stalled", "True", "RetriesExceeded", "1 attempt(s)")
		},
		begins: func(s *stage) {
			s.patch(helmReleases, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
				"reconcile.fluxcd.io/requestedAt": "force", "reconcile.fluxcd.io/forceAt": "force",
			}}}, "kubectl")
		},
		ends: func(s *stage) {
			s.helmReason("Stalled", "True", "RetriesExceeded", "2 attempt(s)")
			s.helmReason("Remediated", "True", "RollbackSucceeded")
		},
		dangerous: func(r string) bool {
			return isWrite(r) && (strings.Contains(r, ".web.v4") || strings.Contains(r, ".web.v5"))
		},
	},
	{
		name: "a rollback as a remedy", chart: chartWithRemedies, spec: "  upgrade: {remediation: {retries: 0, remediateLastFailure: true}}\n",
		before: func(s *stage) { s.world.released("web", 1, "1.0.0") },
		begins: func(s *stage) { s.chartFails("upgrade") },
		ends: func(s *stage) {
			s.helmReason("Stalled", "True", "RetriesExceeded", "1 attempt(s)")
			s.helmReason("Remediated", "True", "RollbackSucceeded")
		},
	},
	{
		name: "a test that fails", chart: chartWithRemedies, spec: "  test: {enable: true}\n  upgrade: {remediation: {retries: 0, remediateLastFailure: true}}\n",
		before: func(s *stage) { s.helmReason("TestSuccess", "True", "TestSucceeded") },
		begins: func(s *stage) { s.chartFails("test") },
		ends: func(s *stage) {
			s.helmReason("Stalled", "True", "RetriesExceeded", "1 attempt(s)")
			s.helmReason("Remediated", "True", "RollbackSucceeded")
		},
	},
	{
		name: "a deletion with hooks", chart: strings.ReplaceAll(chartWithRemedies, "helm.sh/hook: post-upgrade", `helm.sh/hook: "pre-delete,post-delete"`),
		before: func(s *stage) { s.world.released("web", 1, "1.0.0") },
		begins: func(s *stage) { s.kubectl("delete", "helmrelease.helm.toolkit.fluxcd.io/web", "--wait=false") },
		ends:   func(s *stage) { s.goes(helmReleases, "web") },
	},
}

// releaseWith creates the HelmRelease web on the chart that truce reaches through the toll.
func (s *stage) releaseWith(spec string) {
	s.t.Helper()
	s.Apply(s.t, strings.ReplaceAll(s.releaseText("web", spec), "file://"+s.repo.Dir, s.toll.git))
}

// chartFails commits a chart whose hook of an action fails.
func (s *stage) chartFails(action string) {
	s.t.Helper()
	values := strings.ReplaceAll("upgrade: \"0\"\ntest: \"0\"\n", action+`: "0"`, action+`: "3"`)
	s.repo.Commit(map[string]string{"charts/web/values.yaml": values, "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.1.0\n"}, "fails")
	s.annotate(gitRepositories, "charts", "reconcile.fluxcd.io/requestedAt", "after the commit")
}

// play plays a scene on a stage, killed at a request where one is named, and returns how it ends, with the requests from its beginning.
func (x helmScene) play(s *stage, kill int, when moment) (helmOutcome, []string) {
	if x.begins != nil {
		s.releaseWith(x.spec)
		s.start()
		x.before(s)
		s.quiet()
	}
	s.toll.disarm()
	hooks := map[string]*kubetest.Recorder{"after": s.Watch(s.t, jobs, s.ns, "after"), "check": s.Watch(s.t, jobs, s.ns, "check")}
	had := map[string]int{}
	for name := range hooks {
		if s.isThere(jobs, name) {
			had[name] = 1
		}
	}
	if kill > 0 {
		s.toll.arm(map[int]fault{kill: death{when, s.kill}})
	}
	if x.begins != nil {
		x.begins(s)
	} else {
		s.releaseWith(x.spec)
		s.begin()
	}
	if kill > 0 {
		s.crashed()
		s.toll.disarm()
		s.begin()
	}
	x.ends(s)
	requests := s.toll.requests()
	s.quiet()
	out := s.helmOutcome()
	for name, r := range hooks {
		out.Jobs[name] = len(uidsOf(r)) - had[name]
	}
	return out, requests
}

// helmOutcome is how the HelmRelease web stands.
func (s *stage) helmOutcome() helmOutcome {
	s.t.Helper()
	out := helmOutcome{Stored: s.storedReleases("web"), Jobs: map[string]int{}}
	cr, err := s.dynamic().Resource(helmReleases).Namespace(s.ns).Get(s.ctx, "web", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return out
	}
	if err != nil {
		s.t.Fatal(err)
	}
	status, _ := cr.Object["status"].(map[string]any)
	out.Failures = fmt.Sprint(status["failures"], status["installFailures"], status["upgradeFailures"])
	out.Forced = text(cr, "status", "lastHandledForceAt")
	for _, c := range entries(cr, "status", "conditions") {
		out.Conditions = append(out.Conditions, fmt.Sprint(c["type"], " ", c["status"], " ", c["reason"]))
	}
	slices.Sort(out.Conditions)
	return out
}

// helmKills plays each scene without a kill, and then with one at each of the requests that are chosen.
func helmKills(t *testing.T, scenes []helmScene, choose func(helmScene, []string) []point) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	binary := buildTruce(t)
	for _, x := range scenes {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			var want helmOutcome
			var requests []string
			t.Run("no kill", func(t *testing.T) { want, requests = x.play(newStage(t, c, binary, x.chart), 0, before) })
			if t.Failed() {
				return
			}
			for _, p := range choose(x, requests) {
				t.Run(p.String()+" "+strings.Fields(requests[p.n-1])[0], func(t *testing.T) {
					t.Parallel()
					got, _ := x.play(newStage(t, c, binary, x.chart), p.n, p.when)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("killed at %s (-without a kill +with it):\n%s", requests[p.n-1], diff)
					}
				})
			}
		})
	}
}

// TestAFailureIsCountedThoughTruceIsKilledBeforeItsStatus: neither an uninstall nor a forced upgrade gets one more try.
func TestAFailureIsCountedThoughTruceIsKilledBeforeItsStatus(t *testing.T) {
	helmKills(t, helmScenes[:2], func(x helmScene, requests []string) []point {
		var at []int
		for i, r := range requests {
			if x.dangerous(r) {
				at = append(at, i+1)
			}
		}
		return []point{{n: at[0], when: after}, {n: at[len(at)-1], when: after}}
	})
}

func TestLongAReleaseEndsTheSameWhereverTruceIsKilled(t *testing.T) {
	helmKills(t, helmScenes, func(_ helmScene, requests []string) []point {
		var out []point
		for i, r := range requests {
			if isWrite(r) && !strings.Contains(r, "/events") && !strings.Contains(r, "/leases/") {
				out = append(out, point{n: i + 1, when: before}, point{n: i + 1, when: after})
			}
		}
		return out
	})
}
