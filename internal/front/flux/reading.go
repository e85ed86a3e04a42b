package flux

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
)

// reading collects what is wrong, and worth saying, while a custom resource is read.
type reading struct {
	problems    []app.Problem
	notes       []string
	unsupported int // how many of the problems are for want of a feature
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

// within reports whether something is wrong with the field, or with a part of it.
func (r *reading) within(field string) bool {
	return slices.ContainsFunc(r.problems, func(p app.Problem) bool {
		return p.Field == field || strings.HasPrefix(p.Field, field+".")
	})
}

func (r *reading) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// lacks refuses a field that truce cannot do.
func (r *reading) lacks(field, instead string) {
	r.unsupported++
	r.problem(field, "not supported yet; %s", instead)
}

// kind refuses anything but the one kind and version that a front reads.
func (r *reading) kind(cr object.Object, apiVersion, kind string) {
	if got := cr.APIVersion(); got != apiVersion {
		r.problem("apiVersion", "want %s, not %q", apiVersion, got)
	}
	if got := cr.GVK().Kind; got != kind {
		r.problem("kind", "want %s, not %q", kind, got)
	}
}

// spec decodes the fields of .spec one by one into a pointer to a struct: one that cannot be read hides no other. A duration
// that Go refuses must not take the whole kind out of service (CVE-2022-39272). Fields of the table are refused instead.
func (r *reading) spec(cr object.Object, into any, table []lacking) map[string]any {
	spec, ok := cr["spec"].(map[string]any)
	if !ok {
		r.problem("spec", "want an object with fields")
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		if l, ok := lookUp(table, key); ok {
			r.refuse(l, spec)
		} else if spec[key] != nil {
			r.decode("spec.", map[string]any{key: spec[key]}, into)
		}
	}
	return spec
}

// decode reads one value, under its key, strictly. Where is what stands before the key in messages: "spec.", "annotation ".
func (r *reading) decode(where string, value map[string]any, into any) {
	key := strings.Join(slices.Collect(maps.Keys(value)), "")
	data, err := json.Marshal(value)
	if err != nil {
		r.problem(where+key, "%v", err)
		return
	}
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		r.problem(where+key+below(err, key), "%s", plainly(err))
	}
	for _, u := range unknown {
		r.note("%s has no effect: no such field", where+fieldPath(u))
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

// below returns which part of the key's value an error is about, such as ".target"; the decoder puts Go's names before it.
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

// The longest and shortest that a period may be. Flux advises 60 s at least; under a second, a check would not end before the next.
const (
	longest  = 10 * 365 * 24 * time.Hour
	shortest = time.Second
	// refused stands where the user's period cannot: even a refused app has one that is safe to wait for.
	refused = 10 * time.Minute
)

// period reads a duration that repeats: it must be above zero.
func (r *reading) period(field string, d time.Duration) time.Duration {
	switch {
	case r.about(field):
		return refused
	case d <= 0:
		r.problem(field, "want a duration above 0, not %s", d)
		return refused
	case d > longest:
		r.problem(field, "want 10 years at most, not %s", d)
		return refused
	case d < shortest:
		r.note("%s is %s; once a second is as often as it gets", field, d)
		return shortest
	}
	return d
}

// span reads a duration that may be zero.
func (r *reading) span(field string, d time.Duration) time.Duration {
	switch {
	case d < 0:
		r.problem(field, "want a duration of 0 or more, not %s", d)
		return 0
	case d > longest:
		r.problem(field, "want 10 years at most, not %s", d)
		return 0
	}
	return d
}

// set reports whether the value of a field says anything: not null, false, 0, "", nor a list or map without content.
func set(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case float64:
		return v != 0
	}
	return holds(v)
}

// holds is set inside of maps, where a scalar counts whatever it is: an empty label is a label.
func holds(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), holds)
	}
	return true
}
