package flux

import (
	"maps"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
)

// reading is one custom resource while it is read.
type reading struct {
	reader.Reader
	badExpressions int // how many of the problems are expressions that cannot be read
}

// spec decodes the fields of .spec one by one into a pointer to a struct. Fields of the table are refused instead.
func (r *reading) spec(cr object.Object, into any, table []fieldAdvice) map[string]any {
	spec, ok := cr["spec"].(map[string]any)
	if !ok {
		r.Problem("spec", "want an object with fields")
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		if l, ok := findUnsupported(table, key); ok {
			r.refuse(l, spec)
		} else if spec[key] != nil {
			r.Decode("spec.", map[string]any{key: spec[key]}, into)
		}
	}
	return spec
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
	case r.HasProblem(field):
		return refused
	case d <= 0:
		r.Problem(field, "want a duration above 0, not %s", d)
		return refused
	case d > longest:
		r.Problem(field, "want 10 years at most, not %s", d)
		return refused
	case d < shortest:
		r.Note("%s is %s; once a second is as often as it gets", field, d)
		return shortest
	}
	return d
}

// span reads a duration that may be zero.
func (r *reading) span(field string, d time.Duration) time.Duration {
	switch {
	case d < 0:
		r.Problem(field, "want a duration of 0 or more, not %s", d)
		return 0
	case d > longest:
		r.Problem(field, "want 10 years at most, not %s", d)
		return 0
	}
	return d
}

// isFieldSet reports whether the value of a field says anything: not null, false, 0, "", nor a list or map without content.
func isFieldSet(v any) bool {
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
	return hasContent(v)
}

// hasContent is set inside of maps, where a scalar counts whatever it is: an empty label is a label.
func hasContent(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasContent)
	}
	return true
}
