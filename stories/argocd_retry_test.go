package stories

import (
	"regexp"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var saysWhen = regexp.MustCompile(`immutable.*\. Retrying attempt #1 at [0-9]+:[0-9]{2}[AP]M\.$`)

// TestAnOperationRunsBetweenItsTries: as in Argo CD it goes on until its last try, its message says when the next one is, and a person can end it.
func TestAnOperationRunsBetweenItsTries(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]struct{ policy, operation string }{
		"a new revision": {policy: "\nsyncPolicy: {automated: {}, retry: {limit: 2, backoff: {duration: 1h}}}"},
		"a sync":         {policy: manually, operation: `{"operation":{"sync":{},"retry":{"limit":2,"backoff":{"duration":"1h"}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newArgoWorld(t, policy.Policy{}, "-- app/fixed.yaml --\n"+fixedObject("one"))
			w.application("web", "app", by.policy)
			if by.operation != "" {
				w.order("web", `{"sync":{}}`)
			}
			w.inSync("web")
			w.repo.Commit(map[string]string{"app/fixed.yaml": fixedObject("two")}, "two")
			if by.operation != "" {
				w.kubectl("patch", "application.argoproj.io/web", "--type=merge", "-p", by.operation)
			}
			o := w.becomes("web", func(o *unstructured.Unstructured) bool {
				return text(o, "status", "operationState", "phase") == "Running" && saysWhen.MatchString(text(o, "status", "operationState", "message"))
			})
			if n, _, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount"); n != 1 {
				t.Errorf("retryCount is %d", n)
			}
			if ended := text(o, "status", "operationState", "finishedAt"); ended != "" {
				t.Errorf("finishedAt is %s: argocd app wait waits until it is set", ended)
			}
			w.saysOf(w.truce(), 0, "app list -o json", "Retrying attempt #1 at")
			w.patch(applications, "web", map[string]any{"status": map[string]any{"operationState": map[string]any{"phase": "Terminating"}}}, "argocd-server")
			o = w.becomes("web", func(o *unstructured.Unstructured) bool {
				return text(o, "status", "operationState", "phase") == "Failed"
			})
			if message := text(o, "status", "operationState", "message"); message != "Operation terminated" {
				t.Errorf("it is terminated with %q", message)
			}
		})
	}
}

// TestAnOperationSaysHowOftenItWasTried: that is at the end of its message, as in Argo CD.
func TestAnOperationSaysHowOftenItWasTried(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/fixed.yaml --\n"+fixedObject("one"))
	w.application("web", "app", "\nsyncPolicy: {automated: {}, retry: {limit: 2, backoff: {duration: 10ms}}}")
	w.inSync("web")
	w.repo.Commit(map[string]string{"app/fixed.yaml": fixedObject("two")}, "two")
	o := w.becomes("web", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Failed"
	})
	if message := text(o, "status", "operationState", "message"); !regexp.MustCompile(`immutable.* \(retried 2 times\)\.$`).MatchString(message) {
		t.Errorf("it has failed with %q", message)
	}
}

// TestASyncOfAnUnknownRevisionEndsAfterItsTries: also what is not begun uses up the tries.
func TestASyncOfAnUnknownRevisionEndsAfterItsTries(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/web.yaml --\n"+configMap("web"))
	w.application("web", "app", manually)
	phase, message := w.order("web", `{"sync":{"revision":"0123456789012345678901234567890123456789"},"retry":{"limit":1,"backoff":{"duration":"10ms"}}}`)
	if phase != "Error" || !strings.HasSuffix(message, " (retried 1 times).") {
		t.Errorf("it ends with %s: %s", phase, message)
	}
}

// TestASyncOfWhatDoesNotRenderIsTerminated: it is tried as often as it asks for, and a person can end it although no try comes to the objects. The commit that mends
// the files is applied by the next sync.
func TestASyncOfWhatDoesNotRenderIsTerminated(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/web.yaml --\n"+configMap("web"))
	w.application("web", "app", manually)
	broken := w.repo.Commit(w.inNamespace(map[string]string{"app/web.yaml": "kind: [ConfigMap"}), "broken")
	w.kubectl("patch", "application.argoproj.io/web", "--type=merge", "-p", `{"operation":{"sync":{"revision":"`+broken+`"},"retry":{"limit":-1,"backoff":{"duration":"1h"}}}}`)
	w.becomes("web", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Running" && strings.Contains(text(o, "status", "operationState", "message"), "Retrying attempt #1 at")
	})
	w.patch(applications, "web", map[string]any{"status": map[string]any{"operationState": map[string]any{"phase": "Terminating"}}}, "argocd-server")
	o := w.becomes("web", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Failed" && o.Object["operation"] == nil
	})
	if message := text(o, "status", "operationState", "message"); message != "Operation terminated" {
		t.Errorf("it is terminated with %q", message)
	}
	w.repo.Commit(w.inNamespace(map[string]string{"app/web.yaml": configMap("web")}), "mended")
	if phase, message := w.order("web", `{"sync":{}}`); phase != "Succeeded" {
		t.Errorf("the next sync ends with %s: %s", phase, message)
	}
}
