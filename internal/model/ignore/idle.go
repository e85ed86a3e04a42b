package ignore

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Idle reports each rule that is about none of the app's objects, in a sentence that says what is most likely wrong with it.
func (rs Rules) Idle(all []object.Object) []string {
	var out []string
	for _, r := range rs {
		if !slices.ContainsFunc(all, r.Target.Matches) {
			out = append(out, r.Name+" matches no object of this app"+r.Target.missed(all))
		}
	}
	return out
}

// aspect is one thing by which a target chooses.
type aspect struct {
	word string
	want *regexp.Regexp
	of   func(object.Object) string
	drop func(*Target)
}

func (t Target) aspects() []aspect {
	return []aspect{
		{"group", t.Group, func(o object.Object) string { return o.GVK().Group }, func(t *Target) { t.Group = nil }},
		{"version", t.Version, func(o object.Object) string { return o.GVK().Version }, func(t *Target) { t.Version = nil }},
		{"kind", t.Kind, func(o object.Object) string { return o.GVK().Kind }, func(t *Target) { t.Kind = nil }},
		{"namespace", t.Namespace, object.Object.Namespace, func(t *Target) { t.Namespace = nil }},
		{"name", t.Name, object.Object.Name, func(t *Target) { t.Name = nil }},
	}
}

// missed says which one aspect keeps the target from every object, and what the objects have there. If it is more than one, what
// kinds there are.
func (t Target) missed(all []object.Object) string {
	for _, a := range t.aspects() {
		if a.want == nil {
			continue
		}
		rest := t
		a.drop(&rest)
		var there []string
		for _, o := range all {
			if rest.Matches(o) {
				there = appendMissing(there, []string{a.of(o)})
			}
		}
		if len(there) > 0 {
			return a.missed(there)
		}
	}
	return "; it has " + kindNames(all)
}

func (a aspect) missed(there []string) string {
	slices.Sort(there)
	text := literal(a.want)
	if q := suggestion(text, there); q != "" {
		return fmt.Sprintf(": %s %q%s", a.word, text, q)
	}
	if len(there) == 1 {
		return fmt.Sprintf(": %s %q: did you mean %q?", a.word, text, there[0])
	}
	for i, w := range there {
		there[i] = fmt.Sprintf("%q", w)
	}
	return fmt.Sprintf(": %s %q; there is %s", a.word, text, firstWords(there))
}

// literal is the pattern as its user wrote it, as far as a glob that became a regular expression shows it.
func literal(re *regexp.Regexp) string {
	text := strings.TrimSuffix(re.String(), ")$")
	if glob, ok := strings.CutPrefix(text, globOpen); ok {
		return strings.NewReplacer(`\.`, ".", ".*", "*", ".", "?", `\`, "").Replace(glob)
	}
	return strings.TrimPrefix(text, patternOpen)
}

// kindNames lists the kinds of the objects as people write them: Deployment.apps, Service.
func kindNames(all []object.Object) string {
	var out []string
	for _, o := range all {
		gvk := o.GVK()
		out = appendMissing(out, []string{strings.TrimSuffix(gvk.Kind+"."+gvk.Group, ".")})
	}
	if len(out) == 0 {
		return "no objects"
	}
	slices.Sort(out)
	return firstWords(out)
}
