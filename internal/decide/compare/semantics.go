package compare

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/truce-gitops/truce/internal/model/field"
)

// semantics decides whether a value that the API server holds is the value that was sent, under the API's own rules: defaults,
// allocated numbers, quantities, times and values that the server omits when they are zero are equal; another value is not.
// Custom resources have none of these rules but defaults: the server stores them as they were sent.
type semantics struct{ native bool }

// same reports whether got, found at p, is what was sent there; there is false where the server has nothing at p.
func (s semantics) same(p field.Path, sent, got any, there bool) bool {
	ofItem := len(p) > 1 && p[len(p)-2].Key != nil
	return s.value(place{nameFromEnd(p, 1), literals[nameFromEnd(p, 2)] || ofItem && nameFromEnd(p, 1) == "value"}, sent, got, there)
}

// literals are maps of which every value is a text of the user's: no rule of the API rewrites it.
var literals = map[string]bool{
	"labels": true, "annotations": true, "matchLabels": true, "nodeSelector": true, "selector": true,
	"data": true, "parameters": true, "volumeAttributes": true, "options": true,
}

// complete are maps that hold what was sent and nothing else: the server adds no default to them.
var complete = map[string]bool{
	"labels": true, "annotations": true, "matchLabels": true, "nodeSelector": true, "selector": true,
	"podSelector": true, "namespaceSelector": true, "objectSelector": true,
}

// granular are those of the complete maps whose keys have owners of their own: an empty one only says that the map is there.
var granular = map[string]bool{"labels": true, "annotations": true}

// allocated are numbers that the server chooses where 0 is sent.
var allocated = map[string]bool{"nodePort": true, "healthCheckNodePort": true, "hostPort": true}

// ofZero are the defaults that the server takes where 0 is sent.
var ofZero = map[string]int64{
	"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3, // of a probe
	"matchingPrecedence": 1000, "queues": 64, "handSize": 8, "queueLengthLimit": 50, "count": 1,
}

// place is where a value stands: the name of the nearest field, and whether the value is a text of the user's.
type place struct {
	name    string
	literal bool
}

func (s semantics) value(at place, sent, got any, there bool) bool {
	switch {
	case !there:
		return s.omits(at, sent)
	case field.EqualValues(sent, got):
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

// omits reports whether the server leaves the value out: the zero value of a field that is no pointer, and an empty record that it drops
// (sessionAffinityConfig of a Service).
func (s semantics) omits(at place, sent any) bool {
	switch {
	case !s.native:
		return false
	case at.literal:
		return sent == "" && at.name == "value" // of an environment variable
	}
	switch v := sent.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case string:
		return v == "" // also of a volume's class, where it says none
	case bool:
		return !v && !distinguishingKeys[at.name]
	}
	n, whole := field.WholeNumber(sent)
	return whole && n == 0 && !distinguishingKeys[at.name]
}

// fields compares what was sent of a map. An empty map only says that the map is there.
func (s semantics) fields(name string, sent map[string]any, got any) bool {
	have, ok := got.(map[string]any)
	if !ok || complete[name] && len(have) != len(sent) && (len(sent) > 0 || !granular[name]) {
		return false
	}
	for k, v := range sent {
		h, there := have[k]
		if !s.value(place{k, literals[name] || k == "value" && hasText(sent)}, v, h, there) {
			return false
		}
	}
	return true
}

// hasText reports whether the value in an item is a text: of an environment variable, which has a name, and of a toleration, which has a key.
func hasText(item map[string]any) bool {
	_, named := item["name"]
	_, keyed := item["key"]
	return named || keyed
}

// items compares two lists that count as a whole. Endpoints are put into another order by the server.
func (s semantics) items(name string, sent []any, got any) bool {
	have, ok := got.([]any)
	if s.native && name == "tolerations" {
		have = slices.DeleteFunc(slices.Clone(have), func(t any) bool { return ofEachPod(t) && !tolerated(sent, t) })
	}
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

// ofEachPod reports whether the API server adds the toleration to each pod that has none for the taint.
func ofEachPod(toleration any) bool {
	t, _ := toleration.(map[string]any)
	return t["effect"] == "NoExecute" && (t["key"] == "node.kubernetes.io/not-ready" || t["key"] == "node.kubernetes.io/unreachable")
}

// tolerated reports whether one of the tolerations is for the taint of another.
func tolerated(all []any, toleration any) bool {
	return slices.ContainsFunc(all, func(t any) bool { return ofEachPod(t) && field.EqualValues(itemKey(t), itemKey(toleration)) })
}

func itemKey(item any) any {
	m, _ := item.(map[string]any)
	return m["key"]
}

// anyOrder are the lists of Endpoints, which the server sorts and regroups.
var anyOrder = map[string]bool{"subsets": true, "addresses": true, "notReadyAddresses": true}

func sameScalar(name string, sent, got any) bool {
	if n, whole := field.WholeNumber(sent); whole && n == 0 && (allocated[name] || field.EqualValues(got, ofZero[name])) {
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
	return a == "" && !distinguishingKeys[name] || sameBytes(a, b) || sameTime(a, b)
}

// sameBytes reports whether two texts are the same bytes in base64, which may have line breaks in a manifest and never in an answer.
func sameBytes(a, b string) bool {
	sent, err := base64.StdEncoding.DecodeString(a)
	if err != nil {
		return false
	}
	got, err := base64.StdEncoding.DecodeString(b)
	return err == nil && bytes.Equal(sent, got)
}

func sameTime(a, b string) bool {
	t, err := time.Parse(time.RFC3339Nano, a)
	if err != nil {
		return false
	}
	u, err := time.Parse(time.RFC3339Nano, b)
	return err == nil && t.Equal(u)
}

func quantity(v any) (resource.Quantity, bool) {
	switch v.(type) {
	case string, int64, int, float64:
		q, err := resource.ParseQuantity(fmt.Sprint(v))
		return q, err == nil
	}
	return resource.Quantity{}, false
}

// nameFromEnd returns the name of the field that is the nth from the end of a path; empty for a list item.
func nameFromEnd(p field.Path, n int) string {
	if len(p) < n || p[len(p)-n].FieldName == nil {
		return ""
	}
	return *p[len(p)-n].FieldName
}
