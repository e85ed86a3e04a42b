// Package reader answers: what does a custom resource say, field by field, and what of it makes no sense?
//
// In: a custom resource as the API server holds it, and the structs and words that a dialect knows.
// Out: the structs filled as far as they can be; Problems that refuse the resource, and Notes that are worth saying.
// Promise: each field is read by itself, so that one bad value hides no other; nothing panics; what is wrong is said in the words of
// people who have never seen a Go type, and once; no credential is in a message.
// Not here: which fields there are, and what they mean (the dialects).
package reader

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Reader collects what is wrong, and worth saying, while a custom resource is read. Its zero value is ready.
type Reader struct {
	Problems []app.Problem
	Notes    []string
	Lacking  int // how many of the problems are for want of a feature
}

// Problem adds one, unless there is one with the field, or with what it is part of, already.
func (r *Reader) Problem(field, format string, args ...any) {
	if !r.HasProblem(field) {
		r.Problems = append(r.Problems, app.Problem{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
}

// HasProblem reports whether something is wrong with the field, or with what it is part of.
func (r *Reader) HasProblem(field string) bool {
	return slices.ContainsFunc(r.Problems, func(p app.Problem) bool { return isFieldOrPart(field, p.Field) })
}

// HasProblemWithin reports whether something is wrong with the field, or with a part of it.
func (r *Reader) HasProblemWithin(field string) bool {
	return slices.ContainsFunc(r.Problems, func(p app.Problem) bool { return isFieldOrPart(p.Field, field) })
}

// isFieldOrPart reports whether a field is another or a part of it.
func isFieldOrPart(field, whole string) bool {
	rest, within := strings.CutPrefix(field, whole)
	return within && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Note adds something that is worth saying and stops nothing.
func (r *Reader) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Unsupported refuses a field that truce cannot do.
func (r *Reader) Unsupported(field, instead string) {
	r.Lacking++
	r.Problem(field, "not supported yet; %s", instead)
}

// Kind refuses anything but the one kind and version that a dialect reads.
func (r *Reader) Kind(cr object.Object, apiVersion, kind string) {
	if got := cr.APIVersion(); got != apiVersion {
		r.Problem("apiVersion", "want %s, not %q", apiVersion, got)
	}
	if got := cr.GVK().Kind; got != kind {
		r.Problem("kind", "want %s, not %q", kind, got)
	}
}

// Fields decodes the fields of an object one by one into a pointer to a struct: one that cannot be read hides no other. A duration
// that Go refuses must not take the whole kind out of service (CVE-2022-39272). It returns the object, nil for none.
func (r *Reader) Fields(where string, v any, into any) map[string]any {
	all, ok := v.(map[string]any)
	if !ok {
		r.Problem(where, "want an object with fields")
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != nil {
			r.Decode(where+".", map[string]any{key: all[key]}, into)
		}
	}
	return all
}

// Decode reads one value, under its key, strictly. Where is what stands before the key in messages: "spec.", "annotation ".
func (r *Reader) Decode(where string, value map[string]any, into any) {
	key := strings.Join(slices.Collect(maps.Keys(value)), "")
	data, err := json.Marshal(value)
	if err != nil {
		r.Problem(where+key, "%v", err)
		return
	}
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		r.Problem(where+key+pathBelow(err, key), "%s", DecodeErrorText(err))
	}
	for _, u := range unknown {
		r.Note("%s has no effect: no such field", where+fieldPath(u))
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

// pathBelow returns which part of the key's value an error is about, such as ".target"; the decoder puts Go's names before it.
func pathBelow(err error, key string) string {
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

// DecodeErrorText says what a decoder of JSON or YAML says, to people who have never seen a Go type.
func DecodeErrorText(err error) string {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	m := mismatch.FindStringSubmatch(text)
	if m == nil {
		return strings.TrimPrefix(strings.TrimPrefix(text, "json: "), "time: ")
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

// DecodeStatus reads what can be read of a status into a pointer to a struct: a malformed one is no reason to refuse anything. What the struct does not name
// costs nothing: an inventory may have thousands of objects.
func DecodeStatus(cr object.Object, into any) {
	status, ok := cr["status"].(map[string]any)
	if !ok {
		return
	}
	named := jsonNames(reflect.TypeOf(into).Elem())
	for key, v := range status {
		if !named[key] {
			continue
		}
		data, err := json.Marshal(map[string]any{key: v})
		if err != nil || json.Unmarshal(data, into) != nil {
			continue
		}
	}
}

// namesOf has the answers of jsonNames.
var namesOf sync.Map

// jsonNames are the keys of a struct's fields in JSON, those of embedded structs among them.
func jsonNames(of reflect.Type) map[string]bool {
	if known, ok := namesOf.Load(of); ok {
		return known.(map[string]bool)
	}
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = name != ""
	}
	namesOf.Store(of, names)
	return names
}
