package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/optout"
)

// ignoring is what a unit's rules do about one field of one object.
type ignoring struct {
	rule    string // the first that covers it; empty for none
	manager string // of a rule that covers what this one writes, and that nothing else covers
	respect bool   // it is not written in a sync either
	shared  bool   // it stands in the settings of the Argo CD
}

// whose names the rule and what it is written in: the unit, or the object itself.
func (i ignoring) whose(u *discover.Unit) string {
	switch {
	case strings.HasSuffix(i.rule, ignore.PointersAnnotation):
		return "its " + i.rule
	case i.shared:
		return i.rule
	}
	return i.rule + " of " + u.Name()
}

// ignoring reads the unit's rules, and that of the object's own annotation. Where jq was not run, what it could select counts as covered.
func (d described) ignoring(p field.Path) ignoring {
	out := ignoring{respect: respects(d.unit)}
	rules, err := slices.Concat(d.unit.App.Ignore, d.unit.Shared).On(d.object.Data)
	if err != nil {
		return out // the meaning is not known, and the app is refused
	}
	for _, r := range rules {
		if !r.Target.Matches(d.object.Data) {
			continue
		}
		if d.covers(r, p) {
			return ignoring{rule: r.Name, respect: out.respect, shared: r.Shared}
		}
		if len(r.Managers) > 0 && out.rule == "" {
			out.rule, out.manager, out.shared = r.Name, r.Managers[0], r.Shared
		}
	}
	return out
}

// covers reports whether the rule's pointers or expressions cover the field.
func (d described) covers(r ignore.Rule, p field.Path) bool {
	if slices.ContainsFunc(covered(r, d), func(q field.Path) bool { return field.HasPrefix(p, q) }) {
		return true
	}
	last := ""
	if e := p[len(p)-1]; e.FieldName != nil {
		last = *e.FieldName
	}
	return slices.ContainsFunc(r.Queries, func(q string) bool {
		_, plain := pointerOf(q)
		_, answered := d.answer(q)
		return !plain && !answered && last != "" && strings.Contains(q, last)
	})
}

// answer is what an expression selects of the object, if it was asked and there is an answer.
func (d described) answer(query string) (ignore.Answer, bool) {
	a, asked := d.unit.Answers[d.object.ID][query]
	return a, asked && a.Err == nil
}

// covered lists the fields that Git names and the rule covers, but for those that only jq or the cluster can find.
func covered(r ignore.Rule, d described) []field.Path {
	answers := map[string]ignore.Answer{}
	for _, q := range r.Queries {
		if p, plain := pointerOf(q); plain {
			answers[q] = ignore.Answer{Git: []field.Pointer{p}}
		} else if a, ok := d.answer(q); ok {
			answers[q] = a
		}
	}
	var out []field.Path
	for _, c := range (ignore.Rules{r}).Covers(ignore.Observed{Desired: d.object.Data, Answers: answers}) {
		out = append(out, c.Path)
	}
	return out
}

var (
	plainQuery = regexp.MustCompile(`^(\.[A-Za-z_][A-Za-z0-9_]*|\.?\["[^"\\]*"\])+$`)
	queryStep  = regexp.MustCompile(`\.([A-Za-z_][A-Za-z0-9_]*)|\["([^"\\]*)"\]`)
)

// pointerOf reads a jq expression that only names a field: .spec.replicas, .metadata.annotations["a/b"].
func pointerOf(query string) (field.Pointer, bool) {
	query = strings.TrimSpace(query)
	if !plainQuery.MatchString(query) {
		return nil, false
	}
	var out field.Pointer
	for _, m := range queryStep.FindAllStringSubmatch(query, -1) {
		out = append(out, m[1]+m[2])
	}
	return out, true
}

// respects reports whether what is ignored is not written in a sync either: Argo CD wants an option for that.
func respects(u *discover.Unit) bool {
	if u.Dialect != discover.ArgoCD {
		return true
	}
	options, _ := u.Resource.At("spec", "syncPolicy", "syncOptions").([]any)
	return slices.Contains(options, any("RespectIgnoreDifferences=true"))
}

// leftAlone reports whether the object asks the unit's own tool not to write it again once it is there.
func (d described) leftAlone() bool { return isNotRewritten(d.unit.App.OptOuts.Of(d.object.Data, nil)) }

// isNotRewritten reports whether an object that asks for a treatment is not written again once it is there.
func isNotRewritten(t optout.Treatment) bool {
	return t.Effect == optout.NeverApply || t.Effect == optout.CreateOnly
}
