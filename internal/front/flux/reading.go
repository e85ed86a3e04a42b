package flux

import (
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

func (r *reading) problem(field, format string, args ...any) {
	r.problems = append(r.problems, app.Problem{Field: field, Reason: fmt.Sprintf(format, args...)})
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

// spec decodes the fields of .spec one by one into a pointer to a struct: what one of them hides, the others still tell.
// A list of durations that Go refuses must not take the whole kind out of service (CVE-2022-39272).
func (r *reading) spec(cr object.Object, into any) map[string]any {
	spec, ok := cr["spec"].(map[string]any)
	if !ok {
		r.problem("spec", "want an object with fields")
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		if spec[key] != nil {
			r.decode("spec", map[string]any{key: spec[key]}, into)
		}
	}
	return spec
}

// decode reads one value strictly. Field is where the value stands.
func (r *reading) decode(field string, value map[string]any, into any) {
	data, err := json.Marshal(value)
	if err != nil {
		r.problem(field, "%v", err)
		return
	}
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		for key := range value {
			r.problem(field+"."+key, "%s", plainly(err))
		}
	}
	for _, u := range unknown {
		r.note("%s has no effect: no such field", field+"."+fieldPath(u))
	}
}

func fieldPath(err error) string {
	var at kjson.FieldError
	if errors.As(err, &at) {
		return at.FieldPath()
	}
	return err.Error()
}

var mismatch = regexp.MustCompile(`^json: cannot unmarshal (\w+) into Go .* of type (\S+)$`)

// kinds are JSON's words for Go's types, where they differ.
var kinds = strings.NewReplacer("bool", "boolean", "int64", "number", "v1.Duration", "duration such as 10m")

// plainly says what a decoder says, to people who have never seen a Go type.
func plainly(err error) string {
	m := mismatch.FindStringSubmatch(err.Error())
	if m == nil {
		return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "time: ")
	}
	want := kinds.Replace(m[2])
	switch {
	case strings.HasPrefix(want, "[]"):
		want = "list"
	case strings.ContainsAny(want, ".["):
		want = "object with fields"
	}
	return "want a " + want + ", not a " + strings.TrimPrefix(m[1], "Go ")
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
