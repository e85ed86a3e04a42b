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
		if !r.Shared && !slices.ContainsFunc(all, r.Target.Matches) {
			out = append(out, r.Name+" matches no object of this app"+r.Target.missed(all))
		}
	}
	return out
}

// aspect is one thing by which a target chooses.
type aspect struct {
	word string
	want *regexp.Regexp
	rest Target // the target without it
}

func (t Target) aspects() []aspect {
	group, version, kind, namespace, name := t, t, t, t, t
	group.Group, version.Version, kind.Kind, namespace.Namespace, name.Name = nil, nil, nil, nil, nil
	return []aspect{
		{"group", t.Group, group}, {"version", t.Version, version}, {"kind", t.Kind, kind}, {"namespace", t.Namespace, namespace}, {"name", t.Name, name},
	}
}

// valueIn returns what an object has there.
func (a aspect) valueIn(o object.Object) string {
	switch a.word {
	case "group":
		return o.GVK().Group
	case "version":
		return o.GVK().Version
	case "kind":
		return o.GVK().Kind
	case "namespace":
		return o.Namespace()
	}
	return o.Name()
}

// missed says which one aspect keeps the target from every object, and what the objects have there. If it is more than one, what
// kinds there are.
func (t Target) missed(all []object.Object) string {
	for _, a := range t.aspects() {
		if a.want == nil {
			continue
		}
		var there []string
		for _, o := range all {
			if a.rest.Matches(o) {
				there = appendMissing(there, []string{a.valueIn(o)})
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
