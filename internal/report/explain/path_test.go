package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/given"
)

const pod = `
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app.kubernetes.io/name: web, app: x}
  finalizers: [a, b]
  managedFields:
  - {manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:finalizers": {'v:"a"': {}, 'v:"b"': {}}}, "f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}, "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {}}}, 'k:{"name":"log"}': {"f:image": {}}}}}}
spec:
  containers:
  - {name: log, image: "fluent:1", args: [one, two]}
  - {name: web, image: "web:1", ports: [{containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]}
`

func podSubject(t testing.TB) explain.Subject {
	t.Helper()
	s := explain.Subject{Live: redact.Shown(given.Object(t, pod)), Journal: []journal.Entry{{Path: `.metadata.annotations["a.b/c"]`}}}
	s.ID = s.Live.Object().ID()
	var err error
	if s.Owners, err = explain.FieldOwners(s.Live.Object().At("metadata", "managedFields")); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAPathIsFoundInEachFormThatPeopleType(t *testing.T) {
	s := podSubject(t)
	for want, forms := range map[string][]string{
		".": {"", ".", "/", "{.}", "$"},
		".spec.containers[name=web].image": {
			"spec.containers[name=web].image", ".spec.containers[1].image", "/spec/containers/1/image", "{.spec.containers[1].image}", "$.spec.containers[1].image",
			`spec.containers[?(@.name=="web")].image`, `.spec.containers[name="web"].image`, "spec.containers.web.image", "spec.containers.1.image", `spec["containers"][name='web']["image"]`,
		},
		`.metadata.labels["app.kubernetes.io/name"]`: {
			"metadata.labels.app.kubernetes.io/name", `metadata.labels.app\.kubernetes\.io/name`, `metadata.labels["app.kubernetes.io/name"]`, "/metadata/labels/app.kubernetes.io~1name",
		},
		".metadata.labels.app":               {"metadata.labels.app"},
		".metadata.finalizers[=b]":           {"metadata.finalizers[=b]", "metadata.finalizers[1]"},
		".spec.containers[name=log].args[1]": {"spec.containers[name=log].args[1]"},
		".spec.containers[name=web].ports[containerPort=80,protocol=TCP]": {
			"spec.containers[name=web].ports[containerPort=80,protocol=TCP]", "spec.containers[1].ports[0]", `spec.containers[1].ports[?(@.protocol=="TCP")]`,
		},
		`.metadata.annotations["a.b/c"]`: {"metadata.annotations.a.b/c", `metadata.annotations["a.b/c"]`}, // gone, and known to the journal
	} {
		for _, form := range forms {
			if p, err := s.Locate(form); err != nil || field.PathString(p) != want {
				t.Errorf("%s: got %s, %v, want %s", form, field.PathString(p), err, want)
			}
		}
	}
}

func TestAPathThatIsNotThereIsAnsweredWithWhatIsNear(t *testing.T) {
	s := podSubject(t)
	for form, want := range map[string]string{
		"spec.container":                             `Pod web has no field spec.container: did you mean "containers" in /spec?`,
		"specs":                                      `Pod web has no field specs: did you mean "spec" in the object?`,
		"spec.containers[name=web].args":             "Pod web has no field spec.containers[name=web].args: /spec/containers/1 has image, name, ports",
		"spec.containers[name=db].image":             "Pod web has no field spec.containers[name=db].image: /spec/containers has the items [name=log], [name=web]",
		"spec.containers[1].ports[containerPort=80]": "Pod web has no field spec.containers[1].ports[containerPort=80]: [containerPort=80] names 2 items of /spec/containers/1/ports; say which, such as [0]",
		"metadata.name.first":                        "Pod web has no field metadata.name.first: /metadata/name is a single value",
		"spec.containers[":                           `path "spec.containers[": "[" has no closing bracket`,
		"spec..containers":                           `path "spec..containers": a name is missing before ".containers"`,
		"spec.containers[*].image":                   `path "spec.containers[*].image": [*]: want a position such as [0], a key such as [name=web], or a quoted name`,
		"/spec/~2":                                   `JSON pointer "/spec/~2": ~ stands only in ~0 (for ~) and ~1 (for /)`,
	} {
		if p, err := s.Locate(form); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, %v\nwant %s", form, field.PathString(p), err, want)
		}
	}
}

func TestPathsAreCompletedANameAtATime(t *testing.T) {
	s := podSubject(t)
	for begun, want := range map[string]string{
		"":                          "apiVersion kind metadata spec",
		".sp":                       ".spec",
		"spec.containers[":          "spec.containers[name=log] spec.containers[name=web]",
		"spec.containers[name=log]": "spec.containers[name=log].args spec.containers[name=log].image spec.containers[name=log].name",
		"nope":                      "",
	} {
		if got := strings.Join(s.Complete(begun), " "); got != want {
			t.Errorf("%q: got %q, want %q", begun, got, want)
		}
	}
}

// Whatever is typed, it is a field that prints as a path that leads there again, or an error that says what is wrong.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"spec.containers[name=web].image", "/spec/containers/0", `metadata.labels["app.kubernetes.io/name"]`, "[", "a[=b]", `\`, "{.spec}", `[?(@.a=="b")]`, `spec.containers[0]['x']`, "..", "a[0", `["\x00"]`} {
		f.Add(s)
	}
	s := podSubject(f)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := s.Locate(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error that says nothing")
			}
			return
		}
		again, err := s.Locate(field.PathString(p))
		if err != nil || !again.Equals(p) {
			t.Errorf("%q is %s, which is read as %s, %v", text, field.PathString(p), field.PathString(again), err)
		}
	})
}

func TestNoValueOfASecretIsInAnyOfIt(t *testing.T) {
	o := object.Object{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a", "annotations": map[string]any{"x": "hunter2"}}, "data": "hunter2", "stringData": []any{"hunter2"}}
	s := explain.Subject{ID: o.ID()}
	var b strings.Builder
	s.Live = redact.Mask{Key: []byte("k")}.ShowFields(o)
	answer(&b, s, "blame all")
	answer(&b, s, "object")
	answer(&b, s, ".data")
	answer(&b, s, ".data.x")
	if strings.Contains(b.String(), "hunter2") {
		t.Error(b.String())
	}
}

// TestWhatTruceHasDeletedItselfIsInTheStory, also where nothing has drifted.
func TestWhatTruceHasDeletedItselfIsInTheStory(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	entry := func(what journal.EntryKind, why string) journal.Entry {
		return journal.Entry{At: now.Add(-time.Hour), What: what, Reason: why}
	}
	s := explain.Subject{
		App: &app.App{}, Since: 24 * time.Hour, Now: now,
		Journal: []journal.Entry{entry(journal.Pruned, journal.LeftGit), entry(journal.Recreated, "spec.force: field is immutable")},
	}
	for _, path := range []field.Path{nil, field.NewPath("spec", "selector")} {
		said := fmt.Sprint(s.Describe(path))
		for _, want := range []string{"The whole object was deleted by truce once, last ", "The whole object was deleted by truce, and created as Git has it, once, last ", "(spec.force: field is immutable)."} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: not %q in %s", field.PathString(path), want, said)
			}
		}
	}
}
