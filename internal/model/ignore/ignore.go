// Package ignore answers: which differences did the user agree to live with?
//
// In: rules as a dialect read them (a target; JSON pointers, jq expressions, field managers), an object as Git wants it and as it
// is in the cluster, and what the expressions select in the two; and the annotation of Git's object that names pointers.
// Out: for one object, the fields that its rules cover, with the rule that does; what is wrong with the rules, in sentences.
// Promise: pure; a covered field is left out of what is applied, in every sync, whatever its value, and is never copied from live
// into Git's object. Rules only take fields from Git, so two of them never contradict each other: what they cover adds up, in
// any order, and the first that covers a field is the one that is named. A rule goes before a claim on the same field.
// Not here: running jq (the jq child), rights that need no rule (claim).
package ignore

import (
	"regexp"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
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
	Shared   bool            // by all apps of an installation: what it covers need not be there
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

// Observed is one object as far as rules need it. Nothing in it is changed.
type Observed struct {
	Desired object.Object     // what Git wants
	Live    object.Object     // nil: not in the cluster, or not read
	Owners  []ownership.Entry // of Live; they show which lists have keys, without them positions are positions
	Answers map[string]Answer // by query, to all that Rules.Queries asks
}

// Answer is what one jq expression selects.
type Answer struct {
	Git, Live []field.Pointer // in the two objects; positions are those of the object
	// Positional says that the expression counts list items. What it selects in live then says nothing of Git's object.
	Positional bool
	// Err is why there is no answer. Nothing may be written to an object of which the rules are not known.
	Err error
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

// Covers returns the fields that the rules cover: those that Git's object names, those that Git has dropped while they are
// still ours in the cluster, and those that only the cluster has. A path that is nowhere is no error and covers nothing. What
// names the object or a list item, and our own mark, is never covered: no other value is possible there.
func (rs Rules) Covers(s Observed) []Covered {
	var out []Covered
	for i := range rs {
		r := &rs[i]
		if !r.Target.Matches(s.Desired) {
			continue
		}
		for p := range r.parts {
			for _, path := range p.paths(s) {
				out = append(out, Covered{Path: path, Rule: r.Name})
			}
		}
	}
	return out
}

// Queries returns the jq expressions that must be answered before Covers is asked about the object, each once.
func (rs Rules) Queries(desired object.Object) []string {
	var out []string
	for _, r := range rs {
		if len(r.Queries) > 0 && r.Target.Matches(desired) {
			out = appendMissing(out, r.Queries)
		}
	}
	return out
}
