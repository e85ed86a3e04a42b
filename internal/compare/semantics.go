package compare

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/truce-gitops/truce/internal/field"
)

// semantics decides whether a value that the API server holds is the value that was sent, under the API's own rules: defaults,
// allocated numbers, quantities, times and values that the server omits when they are zero are equal; another value is not.
// Custom resources have none of these rules but defaults: the server stores them as they were sent.
type semantics struct{ native bool }

// same reports whether got, found at p, is what was sent there; there is false where the server has nothing at p.
func (s semantics) same(p field.Path, sent, got any, there bool) bool {
	ofItem := len(p) > 1 && p[len(p)-2].Key != nil
	return s.value(place{nameAt(p, 1), literals[nameAt(p, 2)] || ofItem && nameAt(p, 1) == "value"}, sent, got, there)
}

// literals are maps of which every value is a text of the user's: no rule of the API rewrites it.
var literals = map[string]bool{
	"labels": true, "annotations": true, "matchLabels": true, "nodeSelector": true, "selector": true,
	"data": true, "binaryData": true, "parameters": true,
}

// complete are maps that hold what was sent and nothing else: the server adds no default to them.
var complete = map[string]bool{"labels": true, "annotations": true, "matchLabels": true, "nodeSelector": true, "selector": true}

// allocated are numbers that the server chooses where 0 is sent.
var allocated = map[string]bool{"nodePort": true, "healthCheckNodePort": true, "hostPort": true}

// place is where a value stands: the name of the nearest field, and whether the value is a text of the user's.
type place struct {
	name    string
	literal bool
}

func (s semantics) value(at place, sent, got any, there bool) bool {
	switch {
	case !there:
		return s.omits(at, sent)
	case field.Equal(sent, got):
		return true
	}
	switch sent := sent.(type) {
	case map[string]any:
		return s.fields(at.name, sent, got)
	case []any:
		return s.items(at.name, sent, got)
	}
	return s.native && !at.literal && sameScalar(at.name, sent, got)
}

// omits reports whether the server leaves the value out: the zero value of a field that is no pointer.
func (s semantics) omits(at place, sent any) bool {
	switch {
	case !s.native:
		return false
	case at.literal:
		return sent == "" && at.name == "value" // of an environment variable
	case telling[at.name]:
		return false
	}
	switch v := sent.(type) {
	case string:
		return v == ""
	case bool:
		return !v
	}
	n, whole := field.Whole(sent)
	return whole && n == 0
}

// fields compares what was sent of a map. An empty map only says that the map is there.
func (s semantics) fields(name string, sent map[string]any, got any) bool {
	have, ok := got.(map[string]any)
	if !ok || complete[name] && len(have) != len(sent) && len(sent) > 0 {
		return false
	}
	_, named := sent["name"] // as an environment variable is, of which the value is a text
	for k, v := range sent {
		h, there := have[k]
		if !s.value(place{k, literals[name] || named && k == "value"}, v, h, there) {
			return false
		}
	}
	return true
}

// items compares two lists that count as a whole. Endpoints are put into another order by the server.
func (s semantics) items(name string, sent []any, got any) bool {
	have, ok := got.([]any)
	if !ok || len(have) != len(sent) {
		return false
	}
	if s.native && anyOrder[name] {
		return !slices.ContainsFunc(sent, func(v any) bool {
			return !slices.ContainsFunc(have, func(h any) bool { return s.value(place{name, true}, v, h, true) })
		})
	}
	return slices.EqualFunc(sent, have, func(v, h any) bool { return s.value(place{name, true}, v, h, true) })
}

// anyOrder are the lists of Endpoints, which the server sorts and regroups.
var anyOrder = map[string]bool{"subsets": true, "addresses": true, "notReadyAddresses": true}

func sameScalar(name string, sent, got any) bool {
	if n, whole := field.Whole(sent); whole && n == 0 && allocated[name] {
		return true
	}
	if q, ok := quantity(sent); ok {
		if have, ok := quantity(got); ok {
			return q.Cmp(have) == 0
		}
	}
	a, isText := sent.(string)
	b, both := got.(string)
	if !isText || !both {
		return false
	}
	return a == "" || unbroken.Replace(a) == b || sameTime(a, b)
}

// unbroken takes out the line breaks that base64 may have in a manifest and never in an answer.
var unbroken = strings.NewReplacer("\r", "", "\n", "")

func sameTime(a, b string) bool {
	t, err := time.Parse(time.RFC3339Nano, a)
	if err != nil {
		return false
	}
	u, err := time.Parse(time.RFC3339Nano, b)
	return err == nil && t.Equal(u)
}

func quantity(v any) (resource.Quantity, bool) {
	text, ok := v.(string)
	if !ok {
		n, whole := field.Whole(v)
		return *resource.NewQuantity(n, resource.DecimalSI), whole
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// nameAt returns the name of the field that is the nth from the end of a path; empty for a list item.
func nameAt(p field.Path, n int) string {
	if len(p) < n || p[len(p)-n].FieldName == nil {
		return ""
	}
	return *p[len(p)-n].FieldName
}
