package stories

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withoutClaims is plain GitOps for one app: the incident of the second requirement document needs a controller that fights.
const withoutClaims = "metadata: {annotations: {truce.dev/claims: \"off\"}, "

// TestTheIncident goes through the second requirement document step by step, on an app that fights as that one did.
func TestTheIncident(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document1)
	argocd := w.argocd()
	w.incident("")
	d := w.Watch(t, deployments, w.ns, "web")
	w.inSync("grokdevops")

	// The alert: the count flaps between Git's 3 and what the autoscaler wants on its way to 8, for ever.
	w.load(8)
	w.await(d, func(*unstructured.Unstructured) bool { return flaps(d) >= 3 })
	// 1. and 2.: OutOfSync at every moment, and the line of the document.
	line := regexp.MustCompile(`spec\.replicas: 3 \(Git\) vs ([4-9]|10) \(live, set by HPA ` + w.ns + `/web\)`)
	// 3. The autoscaler wants more than Git.
	w.whileTheHPAWantsMore(func() error {
		if code, said := argocd("app", "get", "grokdevops"); code != 0 || !strings.Contains(said, "OutOfSync") || !line.MatchString(said) {
			return fmt.Errorf("argocd app get (exit code %d) does not say %s:\n%s", code, line, said)
		}
		return nil
	})
	w.whileTheHPAWantsMore(func() error {
		if code, said := argocd("app", "diff", "grokdevops"); code != 1 || !line.MatchString(said) {
			return fmt.Errorf("argocd app diff (exit code %d) does not say %s:\n%s", code, line, said)
		}
		return nil
	})
	// 4. The immediate fix: the flapping ends with the autoscaler's next write, and for good.
	if code, said := argocd("app", "set", "grokdevops", "--ignore-difference", `{"group":"apps","kind":"Deployment","jsonPointers":["/spec/replicas"]}`); code != 0 {
		t.Fatalf("argocd app set: exit code %d:\n%s", code, said)
	}
	w.becomes("grokdevops", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" })
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	calm := len(d.Values())
	w.edit("apps/web/base/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
	if code, said := argocd("app", "sync", "grokdevops"); code != 0 {
		t.Errorf("argocd app sync: exit code %d:\n%s", code, said)
	}
	// 5. The permanent fix: the Application as Git has it, with the rule.
	w.incident(`
ignoreDifferences:
- group: apps
  kind: Deployment
  jsonPointers:
  - /spec/replicas`)
	// 6. Steady, Synced, Healthy.
	w.becomes("grokdevops", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "status") == "Synced" && text(o, "status", "sync", "revision") == w.repo.Head() && text(o, "status", "health", "status") == "Healthy"
	})
	if code, said := argocd("app", "get", "grokdevops"); code != 0 || !strings.Contains(said, "Synced") || !strings.Contains(said, "Healthy") {
		t.Errorf("argocd app get (exit code %d):\n%s", code, said)
	}
	for _, v := range d.Values()[calm:] {
		if n := replicas(v.Object); n != 8 {
			t.Errorf("after the immediate fix the count was %d once more", n)
		}
	}
}

// whileTheHPAWantsMore checks what is true whenever the autoscaler wants another count than Git. Where new pods are slow to be ready it
// now and then does not, for a moment: what is said meanwhile counts only if the autoscaler is the same afterwards.
func (w *world) whileTheHPAWantsMore(check func() error) {
	w.t.Helper()
	look := func() (version string, more bool) {
		version, wants, _ := strings.Cut(w.kubectl("get", "hpa", "web", "-o", "jsonpath={.metadata.resourceVersion} {.status.desiredReplicas}"), " ")
		return version, wants != "3"
	}
	w.until("a moment at which the HPA wants more", func() bool {
		before, more := look()
		err := check()
		if after, _ := look(); err != nil && more && after == before {
			w.t.Fatal(err)
		}
		return err == nil && more
	})
}

// incident creates the Application of the document, or brings it to another form.
func (w *world) incident(more string) {
	w.t.Helper()
	spec := automated + more
	w.Apply(w.t, strings.Replace(w.applicationText("grokdevops", "apps/web/production", spec), "metadata: {", withoutClaims, 1))
	w.t.Cleanup(w.removeApps)
}

// TestWithClaimsThereIsNoIncident is the same app with truce as it is.
func TestWithClaimsThereIsNoIncident(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document1)
	w.application("grokdevops", "apps/web/production", automated)
	d := w.Watch(t, deployments, w.ns, "web")
	w.inSync("grokdevops")
	w.load(8)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	w.edit("apps/web/base/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
	w.inSync("grokdevops")
	if n := flaps(d); n != 0 {
		t.Errorf("the count went down %d times", n)
	}
}

// flaps counts how often the count fell.
func flaps(d *kubetest.Recorder) int {
	n, before := 0, int64(0)
	for _, v := range d.Values() {
		now := replicas(v.Object)
		if now < before {
			n++
		}
		before = now
	}
	return n
}

// argocd returns the program as people of the document type it: under that name, in the story's namespace.
func (w *world) argocd() func(args ...string) (code int, said string) {
	w.t.Helper()
	name := filepath.Join(w.t.TempDir(), "argocd")
	if err := os.Symlink(buildTruce(w.t), name); err != nil {
		w.t.Fatal(err)
	}
	return func(args ...string) (int, string) {
		w.t.Helper()
		cmd := exec.CommandContext(w.ctx, name, append(args, "-N", w.ns)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig, "XDG_CACHE_HOME="+w.t.TempDir())
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			w.t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
}
