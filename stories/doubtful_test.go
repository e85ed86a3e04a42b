package stories

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// answered is an answer that is not the server's own: of a proxy, or by a fault of the moment.
func answered(r *http.Request, code int, kind, text string) *http.Response {
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}
}

// refusing is the API server's own form of a refusal, which names the object.
func refusing(r *http.Request, code int, reason string) *http.Response {
	const form = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"by a fault of the moment","reason":%q,"details":{"name":%q},"code":%d}`
	return answered(r, code, "application/json", fmt.Sprintf(form, reason, path.Base(strings.TrimSuffix(r.URL.Path, "/status")), code))
}

// TestOneWrongAnswerDoesNotFailAnAppUntilItsInterval: the first write of each object and of the app's status gets an answer that reads as
// lasting. The interval is an hour.
func TestOneWrongAnswerDoesNotFailAnAppUntilItsInterval(t *testing.T) {
	wrong := map[string]func(*http.Request) *http.Response{
		"c-401":  func(r *http.Request) *http.Response { return refusing(r, 401, "Unauthorized") },
		"c-403":  func(r *http.Request) *http.Response { return refusing(r, 403, "Forbidden") },
		"c-404":  func(r *http.Request) *http.Response { return refusing(r, 404, "NotFound") },
		"c-410":  func(r *http.Request) *http.Response { return refusing(r, 410, "Expired") },
		"c-page": func(r *http.Request) *http.Response { return answered(r, 200, "text/html", "<html>sign in</html>") },
		"c-lost": func(r *http.Request) *http.Response { return answered(r, 404, "text/html", "<html>not found</html>") },
		"c-text": func(r *http.Request) *http.Response { return answered(r, 404, "text/plain", "default backend") },
		"status": func(r *http.Request) *http.Response { return refusing(r, 404, "NotFound") },
	}
	var files strings.Builder
	for name := range wrong {
		if name != "status" {
			fmt.Fprintf(&files, "-- app/%[1]s.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s, namespace: NAMESPACE}, data: {by: git}}\n", name)
		}
	}
	w := offWorld(t, files.String())
	w.tap = &tap{}
	met := map[string]bool{}
	w.tap.set(func(r *http.Request) *http.Response {
		name := path.Base(r.URL.Path)
		if answer := wrong[name]; answer != nil && r.Method == http.MethodPatch && !met[name] {
			met[name] = true
			return answer(r)
		}
		return nil
	})
	w.start(policy.Policy{})
	w.app("web", "./app", defaultSpec)
	w.ready("web")
	for name := range wrong {
		if name == "status" {
			continue
		}
		w.await(w.Watch(t, configmaps, w.ns, name), func(o *unstructured.Unstructured) bool {
			by, _, _ := unstructured.NestedString(o.Object, "data", "by")
			return by == "git"
		})
	}
}

// TestAStatusThatIsNotFoundIsWrittenAgain: a status that gets one 404 is not taken for a field of the custom resource, into which the server would
// take it and drop it. The interval is an hour.
func TestAStatusThatIsNotFoundIsWrittenAgain(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	w.tap = &tap{}
	refuseOnce := func() {
		met := false
		w.tap.set(func(r *http.Request) *http.Response {
			if met || r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/kustomizations/web/status") || !strings.Contains(bodyOf(r), `"lastAppliedRevision"`) {
				return nil
			}
			met = true
			return refusing(r, 404, "NotFound")
		})
	}
	refuseOnce()
	stop := w.start(policy.Policy{})
	w.app("web", "./app", defaultSpec)
	w.ready("web")
	refuseOnce()
	w.repo.Commit(map[string]string{"app/note": "a"}, "a status by a truce that has written some")
	w.ready("web")
	stop()
	refuseOnce()
	w.repo.Commit(map[string]string{"app/note": "b"}, "a status by a truce that has written none")
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.ready("web")
}
