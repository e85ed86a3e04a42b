package argocd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
)

// reading collects what is wrong, and worth saying, while a custom resource is read.
type reading struct {
	problems []app.Problem
	notes    []string
}

// problem adds one, unless there is one with the field, or with what it is part of, already.
func (r *reading) problem(field, format string, args ...any) {
	if !r.about(field) {
		r.problems = append(r.problems, app.Problem{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
}

// about reports whether something is wrong with the field, or with what it is part of.
func (r *reading) about(field string) bool {
	return slices.ContainsFunc(r.problems, func(p app.Problem) bool {
		rest, within := strings.CutPrefix(field, p.Field)
		return within && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// within reports whether something is wrong with a part of the field.
func (r *reading) within(field string) bool {
	return slices.ContainsFunc(r.problems, func(p app.Problem) bool { return strings.HasPrefix(p.Field, field) })
}

func (r *reading) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// lacks refuses a field that truce cannot do.
func (r *reading) lacks(field, instead string) {
	r.problem(field, "not supported yet; %s", instead)
}

func (r *reading) kind(cr object.Object) {
	if got := cr.APIVersion(); got != apiVersion {
		r.problem("apiVersion", "want %s, not %q", apiVersion, got)
	}
	if got := cr.GVK().Kind; got != application {
		r.problem("kind", "want %s, not %q", application, got)
	}
}

// fields decodes the fields of an object one by one into a pointer to a struct: one that cannot be read hides no other.
func (r *reading) fields(where string, v any, into any) {
	all, ok := v.(map[string]any)
	if !ok {
		r.problem(where, "want an object with fields")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != nil {
			r.decode(where, map[string]any{key: all[key]}, into)
		}
	}
}

func (r *reading) decode(where string, value map[string]any, into any) {
	key := strings.Join(slices.Collect(maps.Keys(value)), "")
	data, err := json.Marshal(value)
	if err != nil {
		r.problem(where+"."+key, "%v", err)
		return
	}
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		r.problem(where+"."+key+below(err, key), "%s", plainly(err))
	}
	for _, u := range unknown {
		r.note("%s.%s has no effect: no such field", where, fieldPath(u))
	}
}

func fieldPath(err error) string {
	var at kjson.FieldError
	if errors.As(err, &at) {
		return at.FieldPath()
	}
	return err.Error()
}

var mismatch = regexp.MustCompile(`^json: cannot unmarshal (\w+) into Go (?:struct field (\S+)|value) of type (\S+)$`)

// below returns which part of the key's value an error is about, such as ".automated"; the decoder puts Go's names before it.
func below(err error, key string) string {
	m := mismatch.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	_, path, _ := strings.Cut(m[2]+".", "."+key+".")
	return strings.TrimSuffix("."+path, ".")
}

// kinds are JSON's words, by Go's and by the decoder's.
var kinds = map[string]string{
	"bool": "true or false", "array": "a list", "object": "an object", "number": "a number", "int64": "a number", "string": "a string",
}

// plainly says what a decoder says, to people who have never seen a Go type.
func plainly(err error) string {
	m := mismatch.FindStringSubmatch(err.Error())
	if m == nil {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	want, known := kinds[m[3]]
	switch {
	case known:
	case strings.HasPrefix(m[3], "[]"):
		want = kinds["array"]
	default:
		want = kinds["object"]
	}
	return "want " + want + ", not " + cmp.Or(kinds[m[1]], m[1])
}

// set reports whether a value says anything: not null, nor an empty object, list or text.
func set(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case json.RawMessage:
		text := string(v)
		return text != "" && text != "null" && text != "{}"
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return v != ""
}
