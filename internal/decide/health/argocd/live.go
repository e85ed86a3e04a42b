package argocd

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// live reads an object, and remembers the first field that has another type than the API gives it.
type live struct {
	object.Object
	bad string
}

func (l *live) wrong(keys []string, want string) {
	if l.bad == "" {
		l.bad = fmt.Sprintf("%s is not %s", strings.Join(keys, "."), want)
	}
}

// number returns a number, 0 where there is none.
func (l *live) number(keys ...string) int64 { return l.numberOr(0, keys...) }

// numberOr returns a number, or what the API server takes where there is none.
func (l *live) numberOr(none int64, keys ...string) int64 {
	switch v := l.At(keys...).(type) {
	case nil:
		return none
	case int64:
		return v
	case float64:
		return int64(v)
	}
	l.wrong(keys, "a number")
	return none
}

// text returns a text, empty where there is none.
func (l *live) text(keys ...string) string {
	switch v := l.At(keys...).(type) {
	case nil:
		return ""
	case string:
		return v
	}
	l.wrong(keys, "a text")
	return ""
}

// list returns the objects of a list.
func (l *live) list(keys ...string) []object.Object {
	v := l.At(keys...)
	items, ok := v.([]any)
	if v != nil && !ok {
		l.wrong(keys, "a list")
	}
	out := make([]object.Object, 0, len(items))
	for _, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			l.wrong(keys, "a list of objects")
			continue
		}
		out = append(out, m)
	}
	return out
}

// conditions returns status.conditions by their type.
func (l *live) conditions() map[string]condition {
	out := map[string]condition{}
	for _, c := range l.list("status", "conditions") {
		out[stringAt(c, "type")] = conditionOf(c)
	}
	return out
}

// condition is a condition of a status.
type condition struct{ status, reason, message string }

func conditionOf(c object.Object) condition {
	return condition{stringAt(c, "status"), stringAt(c, "reason"), stringAt(c, "message")}
}

// String is the reason with the message.
func (c condition) String() string { return strings.Trim(c.reason+": "+c.message, ": ") }

func stringAt(o object.Object, keys ...string) string {
	s, _ := o.At(keys...).(string)
	return s
}
