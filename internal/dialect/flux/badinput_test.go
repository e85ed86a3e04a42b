package flux

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/webhook"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// specTypes are the types of which every field is tried.
var specTypes = map[string]reflect.Type{
	"Kustomization": reflect.TypeFor[KustomizationSpec](), "GitRepository": reflect.TypeFor[sourcev1.GitRepositorySpec](),
	"OCIRepository": reflect.TypeFor[sourcev1.OCIRepositorySpec](), "Bucket": reflect.TypeFor[sourcev1.BucketSpec](),
	"HelmRepository": reflect.TypeFor[sourcev1.HelmRepositorySpec](), "HelmChart": reflect.TypeFor[sourcev1.HelmChartSpec](),
	"ExternalArtifact": reflect.TypeFor[sourcev1.ExternalArtifactSpec](), "Receiver": reflect.TypeFor[notificationv1.ReceiverSpec](),
	"ArtifactGenerator": reflect.TypeFor[generatorSpec](),
}

// TestBadInputOnEveryField writes down what becomes of bad values in every field of Flux's types: a field that a newer Flux adds is in no story, and
// fails this test until it is decided what it means.
func TestBadInputOnEveryField(t *testing.T) {
	golden.Run(t, "testdata/badinput/*.txtar", func(t *testing.T, in golden.Files) string {
		cr := given.Object(t, in.Need(t, "cr.yaml"))
		var out strings.Builder
		for _, f := range fieldsOf(specTypes[cr.GVK().Kind], []any{"spec"}) {
			for _, bad := range f.badValues() {
				changed := object.Object(object.CloneValue(map[string]any(cr)).(map[string]any))
				changed["spec"] = putAt(changed["spec"], f.path[1:], bad.value)
				fmt.Fprintf(&out, "%s %s: %s\n", f, bad.name, refusalText(t, changed))
			}
		}
		return out.String()
	})
}

// apiField is a field of a type, as the path to it in a custom resource.
type apiField struct {
	path []any // names of fields, and 0 for the first item of a list
	kind reflect.Kind
	time bool
}

func (f apiField) String() string {
	var b strings.Builder
	for i, p := range f.path {
		switch {
		case p == 0:
			b.WriteString("[]")
		case i > 0:
			fmt.Fprintf(&b, ".%s", p)
		default:
			fmt.Fprint(&b, p)
		}
	}
	return b.String()
}

// fieldsOf lists a type's fields, each before those that it holds.
func fieldsOf(t reflect.Type, path []any) []apiField {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	at := append([]any{}, path...)
	switch {
	case t == reflect.TypeFor[metav1.Duration]():
		return []apiField{{path: at, time: true}}
	case t == reflect.TypeFor[apiextensionsv1.JSON]():
		return []apiField{{path: at, kind: reflect.Interface}}
	}
	out := []apiField{{path: at, kind: t.Kind()}}
	switch t.Kind() {
	case reflect.Slice:
		out = append(out, fieldsOf(t.Elem(), append(at, 0))...)
	case reflect.Map:
		out = append(out, fieldsOf(t.Elem(), append(at, "key"))...)
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			switch {
			case name == "" && t.Field(i).Anonymous:
				out = append(out, fieldsOf(t.Field(i).Type, at)[1:]...)
			case name != "" && name != "-":
				out = append(out, fieldsOf(t.Field(i).Type, append(at, name))...)
			}
		}
	default:
	}
	return out
}

type badValue struct {
	name  string
	value any
}

const (
	hostileText = "../../etc/passwd\x00\n${HOME} $(id) {{.}} canary-7c1e"
	longText    = 70_000
)

// badValues are of another type, empty, hostile and over-long.
func (f apiField) badValues() []badValue {
	switch {
	case f.time:
		return []badValue{{"wrong", int64(10)}, {"empty", ""}, {"hostile", "-1h"}, {"long", "999999999h"}}
	case f.kind == reflect.String:
		return []badValue{{"wrong", map[string]any{"a": int64(1)}}, {"empty", ""}, {"hostile", hostileText}, {"long", strings.Repeat("a", longText)}}
	case f.kind == reflect.Bool:
		return []badValue{{"wrong", "yes"}}
	case f.kind == reflect.Interface:
		return []badValue{{"wrong", int64(1)}, {"hostile", hostileText}}
	case f.kind == reflect.Struct || f.kind == reflect.Map:
		return []badValue{{"wrong", "text"}, {"empty", map[string]any{}}}
	case f.kind == reflect.Slice:
		return []badValue{{"wrong", "text"}, {"empty", []any{}}}
	}
	return []badValue{{"wrong", "text"}, {"hostile", int64(-1) << 60}}
}

// putAt returns what was there with a value at a path.
func putAt(was any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == 0 {
		var first any
		if list, ok := was.([]any); ok && len(list) > 0 {
			first = list[0]
		}
		return []any{putAt(first, path[1:], value)}
	}
	m, ok := was.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	m[path[0].(string)] = putAt(m[path[0].(string)], path[1:], value)
	return m
}

// refusalText says with which reason and why a custom resource is refused, or that it is not.
func refusalText(t *testing.T, cr object.Object) string {
	var problems []app.Problem
	var notes []string
	var status map[string]any
	if cr.GVK().Kind == notificationv1.ReceiverKind {
		read := Receivers{}.Receiver(cr)
		problems, notes = read.Problems, read.Notes
		status = Receivers{}.Status(cr, webhook.State{Problems: problems, At: time.Unix(1, 0)})
	} else if cr.GVK().Kind == kustomization {
		a := Kustomizations{}.App(cr, policy.Policy{})
		problems, notes = a.Problems, a.Notes
		status = Kustomizations{}.Status(cr, report.Report{Reason: report.SpecRefused, Stage: report.Admit, At: time.Unix(1, 0)})
	} else {
		s := sourcesOf(cr.GVK().Kind)
		read := s.Source(cr)
		problems, notes = read.Problems, read.Notes
		_, err := s.Spec(cr, source.Secrets{})
		if read.Recipe != nil && len(problems) == 0 {
			err = nil // nothing is fetched of it
		}
		status = s.Status(cr, dialect.SourceState{Err: err, At: time.Unix(1, 0)})
		if err != nil && len(problems) == 0 {
			problems = []app.Problem{{Reason: err.Error()}}
		}
	}
	if len(problems) == 0 {
		return strings.TrimSpace("taken " + shortText(strings.Join(notes, "; ")))
	}
	ready := firstCondition(status)
	if reason, _ := ready["reason"].(string); reason == "" && status != nil || len(fmt.Sprint(ready["message"])) > longestMessage {
		t.Errorf("the condition of %s: %v", cr.ID(), shortText(fmt.Sprint(ready)))
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = shortText(p.String())
	}
	return fmt.Sprintf("%v: %s", ready["reason"], strings.Join(lines, "; "))
}

func firstCondition(status map[string]any) map[string]any {
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if m, _ := c.(map[string]any); m["type"] == "Ready" {
			return m
		}
	}
	return nil
}

func sourcesOf(kind string) dialect.Sources {
	switch kind {
	case gitRepository:
		return GitRepositories{}
	case ociRepository:
		return OCIRepositories{}
	case helmRepository:
		return HelmRepositories{}
	case helmChart:
		return HelmCharts{}
	case externalArtifact:
		return ExternalArtifacts{}
	case artifactGenerator:
		return ArtifactGenerators{}
	}
	return Buckets{}
}

// shortText prints a text in one line, and no more than the ends of a long one.
func shortText(text string) string {
	text = fmt.Sprintf("%q", text)
	text = text[1 : len(text)-1]
	if len(text) > 200 {
		return fmt.Sprintf("%s … %s", text[:80], text[len(text)-60:])
	}
	return text
}
