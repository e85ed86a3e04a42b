package stories

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// chartThatHangs has a hook of every action that changes something, which no controller ends.
const chartThatHangs = chartOfConfig + `
-- charts/web/templates/slow.yaml --
{{ if .Values.slow }}
apiVersion: batch/v1
kind: Job
metadata: {name: slow, annotations: {helm.sh/hook: "pre-install,pre-upgrade,pre-rollback"}}
spec:
  managedBy: stories.truce.dev/hand
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}}
{{ end }}
`

// chartDirectory is the story's chart as files.
func (w *world) chartDirectory() string {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "clone")
	if out, err := exec.CommandContext(w.ctx, "git", "clone", "-q", w.repo.Dir, dir).CombinedOutput(); err != nil {
		w.t.Fatalf("git clone: %v\n%s", err, out)
	}
	return filepath.Join(dir, "charts", "web")
}

// helmDies runs the stock helm until the newest stored release of web is as wanted, and kills it.
func (w *world) helmDies(want string, args ...string) {
	w.t.Helper()
	cmd := w.helmCommand(args...)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.until("the release is "+want, func() bool { return strings.HasSuffix(" "+w.storedReleases("web"), " "+want) })
	if err := cmd.Process.Kill(); err != nil {
		w.t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}

func TestAReleaseThatAKilledHelmHasLeftIsTakenUp(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartThatHangs)
	chart := w.chartDirectory()
	w.helmDies("1:pending-install", "install", "web", chart, "--set", "slow=true,env=helm")
	w.release("web", "")
	w.released("web", 2, "1.0.0")
	w.holds("web", "env", "chart")

	w.helmDies("3:pending-upgrade", "upgrade", "web", chart, "--set", "slow=true,env=helm")
	w.annotate(helmReleases, "web", "reconcile.fluxcd.io/requestedAt", "after the upgrade")
	w.released("web", 4, "1.0.0")

	w.helmDies("5:pending-rollback", "rollback", "web", "3")
	w.annotate(helmReleases, "web", "reconcile.fluxcd.io/requestedAt", "after the rollback")
	w.released("web", 6, "1.0.0")
	w.holds("web", "env", "chart")
	if got, want := w.storedReleases("web"), "2:superseded 3:failed 4:superseded 5:failed 6:deployed"; got != want {
		t.Errorf("stored: %s, want %s", got, want)
	}
}

// chartWithAJob has a hook that the sandbox runs, and a value that is another one each time the templates run.
const chartWithAJob = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/templates/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {random: "{{ randAlphaNum 20 }}"}
-- charts/web/templates/hook.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: pre-install}}
spec:
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: "0"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
`

// releaseOf creates the HelmRelease web on the chart that truce reaches through the toll.
func (s *stage) releaseOf() {
	s.t.Helper()
	s.Apply(s.t, strings.ReplaceAll(s.releaseText("web", ""), "file://"+s.repo.Dir, s.toll.git))
}

// isOfRelease reports whether a request writes the stored release, the hook or the object of chartWithAJob.
func isOfRelease(request string) bool {
	return isWrite(request) && (strings.Contains(request, "/secrets/sh.helm.release.") || strings.Contains(request, "/jobs/migrate") || strings.Contains(request, "/configmaps/web"))
}

func TestAReleaseGoesOnWhereAKilledTruceHasLeftIt(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	binary := buildTruce(t)
	var requests []string
	t.Run("no kill", func(t *testing.T) {
		s := newStage(t, c, binary, chartWithAJob)
		s.releaseOf()
		s.toll.disarm()
		s.start()
		s.world.released("web", 1, "1.0.0")
		requests = s.toll.requests()
	})
	var points []int
	for i, r := range requests {
		if isOfRelease(r) {
			points = append(points, i+1)
		}
	}
	if len(points) < 5 {
		t.Fatalf("of %d requests %v are of the release", len(requests), points)
	}
	// The first write stores the pending release; then come the hook and its Job, the object, and the end.
	for _, n := range slices.Compact([]int{points[0], points[2], points[len(points)/2], points[len(points)-2]}) {
		t.Run(fmt.Sprintf("killed after %d %s", n, strings.Fields(requests[n-1])[0]), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c, binary, chartWithAJob)
			job, object := s.Watch(t, jobs, s.ns, "migrate"), s.Watch(t, configmaps, s.ns, "web")
			s.toll.arm(map[int]fault{n: death{after, s.kill}})
			s.releaseOf()
			s.begin()
			s.crashed()
			s.toll.disarm()
			s.begin()
			s.world.released("web", 1, "1.0.0")
			s.quiet()
			if got := s.storedReleases("web"); got != "1:deployed" {
				t.Errorf("stored: %s", got)
			}
			if uids := uidsOf(job); len(uids) != 1 {
				t.Errorf("the hook ran %d times", len(uids))
			}
			values := map[string]bool{}
			for _, v := range object.Values() {
				values[value(v.Object, "random")] = true
			}
			if len(values) != 1 {
				t.Errorf("the object had the values %v: the templates ran again", values)
			}
		})
	}
}

// TestARemedyGoesOnWhereAKilledTruceHasLeftIt: the failure before it was not in the status yet, and counts all the same.
func TestARemedyGoesOnWhereAKilledTruceHasLeftIt(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	installCRDs(t, c)
	binary := buildTruce(t)
	upgrade := func(s *stage) {
		const spec = "  upgrade: {remediation: {retries: 0, remediateLastFailure: true}}\n"
		s.Apply(s.t, strings.ReplaceAll(s.releaseText("web", spec), "file://"+s.repo.Dir, s.toll.git))
		s.start()
		s.world.released("web", 1, "1.0.0")
		s.quiet()
		s.toll.disarm()
	}
	fails := func(s *stage) {
		s.repo.Commit(map[string]string{"charts/web/values.yaml": "upgrade: \"3\"\ntest: \"0\"\n", "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.1.0\n"}, "fails")
		s.annotate(gitRepositories, "charts", "reconcile.fluxcd.io/requestedAt", "now")
	}
	ended := func(s *stage) {
		s.helmReason("Stalled", "True", "RetriesExceeded", "1 attempt(s)")
		s.helmReason("Remediated", "True", "RollbackSucceeded")
		s.helmReason("Released", "False", "UpgradeFailed", "post-upgrade")
		s.quiet()
		if got := s.storedReleases("web"); got != "1:superseded 2:failed 3:deployed" {
			s.t.Errorf("stored: %s", got)
		}
	}
	begun := 0
	t.Run("no kill", func(t *testing.T) {
		s := newStage(t, c, binary, chartWithRemedies)
		upgrade(s)
		fails(s)
		ended(s)
		begun = 1 + slices.IndexFunc(s.toll.requests(), func(r string) bool { return isWrite(r) && strings.Contains(r, "/secrets/sh.helm.release.v1.web.v3") })
	})
	for _, when := range []moment{before, after} {
		t.Run(fmt.Sprintf("killed at %d %s", begun, when), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c, binary, chartWithRemedies)
			upgrade(s)
			s.toll.arm(map[int]fault{begun: death{when, s.kill}})
			fails(s)
			s.crashed()
			s.toll.disarm()
			s.begin()
			ended(s)
		})
	}
}

// uidsOf are the objects of one name that a watch has seen, one after the other.
func uidsOf(r *kubetest.Recorder) map[string]*unstructured.Unstructured {
	out := map[string]*unstructured.Unstructured{}
	for _, v := range r.Values() {
		out[string(v.Object.GetUID())] = v.Object
	}
	return out
}
