// Package ignore answers: which differences did the user agree to live with?
//
// In: rules as a front read them: a target, and JSON pointers.
// Out: for one object, the fields that its rules cover, with the rule that does.
// Promise: pure; a covered field is left out of what is applied, whatever its value, and is never copied from live into Git's object.
// Not here: jq (the jq child), standing rights that nobody had to write down (claim).
package ignore

import (
	"regexp"

	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
)

// Rules are all rules of one app, in the user's order.
type Rules []Rule

// Rule says that some fields of some objects are not Git's. What its parts name adds up.
type Rule struct {
	Target   Target
	Pointers []field.Pointer // see ParsePointer
	Queries  []string        // jq expressions; what jq's path(expression) gives is covered
	Managers []string        // field managers; what they own in the cluster is covered
	Name     string          // how messages call it: "spec.ignoreDifferences[0]"
}

// Selector chooses objects by labels or annotations. Implementations are pure and safe for concurrent use.
type Selector interface {
	Matches(values map[string]string) bool
}

// Target says which objects a rule is about. Nil parts match everything.
type Target struct {
	Group, Version, Kind, Namespace, Name *regexp.Regexp // anchored; see Pattern, Glob and Exact
	Labels, Annotations                   Selector
}

// Covered is one field that a rule covers.
type Covered struct {
	Path field.Path
	Rule string
}

// Matches reports whether the rule is about the object.
func (t Target) Matches(o object.Object) bool {
	gvk := o.GVK()
	return matches(t.Group, gvk.Group) && matches(t.Version, gvk.Version) && matches(t.Kind, gvk.Kind) &&
		matches(t.Namespace, o.Namespace()) && matches(t.Name, o.Name()) &&
		selects(t.Labels, o, "labels") && selects(t.Annotations, o, "annotations")
}

func matches(re *regexp.Regexp, s string) bool { return re == nil || re.MatchString(s) }

func selects(sel Selector, o object.Object, kind string) bool {
	if sel == nil {
		return true
	}
	m, _ := o.At("metadata", kind).(map[string]any)
	values := make(map[string]string, len(m))
	for k, v := range m {
		if s, ok := v.(string); ok {
			values[k] = s
		}
	}
	return sel.Matches(values)
}

// Covers returns the fields of desired that the rules cover, and those that Git has dropped while they are still ours in the
// cluster. A path that is nowhere is no error and covers nothing. What names the object or a list item, and our own mark, is
// never covered: nobody else can have another value there.
// The owners of the live object tell which lists have keys; without them positions are positions.
func (rs Rules) Covers(desired object.Object, owners []ownership.Entry) []Covered {
	var out []Covered
	for _, r := range rs {
		if !r.Target.Matches(desired) {
			continue
		}
		for _, p := range r.Pointers {
			path, ok := ownership.Resolve(p, desired, owners)
			if !ok {
				continue
			}
			for _, part := range parts(desired, owners, path) {
				out = append(out, Covered{Path: part, Rule: r.Name})
			}
		}
	}
	return out
}

// Idle returns the names of the rules that are about none of the objects: most likely a wrong name or kind.
func (rs Rules) Idle(all []object.Object) []string {
	var out []string
	for _, r := range rs {
		hit := false
		for _, o := range all {
			hit = hit || r.Target.Matches(o)
		}
		if !hit {
			out = append(out, r.Name)
		}
	}
	return out
}
