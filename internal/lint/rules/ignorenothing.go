package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/schema"
)

func ignoreMatchesNothing() rule {
	return rule{Rule{
		ID: "ignore-matches-nothing", Severity: Warning,
		Title: "an ignore rule is about nothing that the app describes",
		Reason: "A rule whose group, kind, namespace, name or path is wrong protects nothing, and it is not reported: Argo CD writes it into a " +
			"debug log, Flux ignores it. The field that it was written for is reset at the next sync.",
		Remedy: "Correct what the finding names. In Argo CD the group is without a version, and empty for the core group only: apps for a " +
			"Deployment. In Flux group, kind, namespace and name are regular expressions that must match the whole text. Managers are the names " +
			"in metadata.managedFields: an HPA's writes are those of kube-controller-manager. Remove a rule that has served its time.",
		Source: "Argo CD spec.ignoreDifferences (argo-cd#29330, measured on its diff); Flux spec.ignore",
	}, func(j *checker) []Finding {
		var out []Finding
		for _, w := range j.writtenRules() {
			out = append(out, j.pointless(w)...)
		}
		return out
	}}
}

// writtenRule is an ignore rule as it is written, once for all apps that it is made for: those of an ApplicationSet share theirs, though its
// target may differ between them.
type writtenRule struct {
	ignore.Rule // as the first of them has it
	units       []*discover.Unit
	targets     []func(object.Object) bool // whether it is about an object, for each of them
}

func (j *checker) writtenRules() []*writtenRule {
	var out []*writtenRule
	known := map[string]*writtenRule{}
	for i := range j.discovery.Units {
		u := &j.discovery.Units[i]
		for _, r := range u.App.Ignore {
			place := j.files.said(u, r.Name)
			at := fmt.Sprintf("%s:%d %s %q %q %q", place, place.Column, r.Name, r.Pointers, r.Queries, r.Managers)
			if known[at] == nil {
				known[at] = &writtenRule{Rule: r}
				out = append(out, known[at])
			}
			known[at].units = append(known[at].units, u)
			known[at].targets = append(known[at].targets, r.Target.Matches)
		}
	}
	return out
}

// pointless says what is wrong with a rule; nothing, as soon as it is right for one of its apps, or one of them could not be rendered.
func (j *checker) pointless(w *writtenRule) []Finding {
	var about []described
	for i, u := range w.units {
		if u.Err != nil || len(u.Objects) == 0 {
			return nil
		}
		for k := range u.Objects {
			if d := (described{u, &u.Objects[k]}); w.targets[i](d.object.Data) {
				about = append(about, d)
			}
		}
	}
	if len(about) == 0 {
		u := w.units[0]
		why := strings.TrimPrefix((ignore.Rules{w.Rule}).Idle(objectData(u))[0], w.Name+" ")
		return []Finding{j.ruleFinding(u, w.Name, fmt.Sprintf("%s of %s %s", w.Name, u.Name(), why), "correct the rule, or remove it")}
	}
	return j.pointlessParts(w, about)
}

// pointlessParts are paths that none of the objects can have, and managers that do not exist.
func (j *checker) pointlessParts(w *writtenRule, about []described) []Finding {
	u := w.units[0]
	var out []Finding
	for i, p := range w.pointers() {
		if why := j.nowhere(p, about); why != "" {
			out = append(out, j.ruleFinding(u, w.partAt(u, i), fmt.Sprintf("%s of %s: %s %s", w.Name, u.Name(), p, why), "correct the path"))
		}
	}
	for i, q := range w.Queries {
		if f, ok := j.pointlessQuery(w, i, about); ok {
			f.Message = fmt.Sprintf("%s of %s: %s ", w.Name, u.Name(), q) + f.Message
			out = append(out, f)
		}
	}
	for i, m := range w.Managers {
		if right, wrong := misnamed[m]; wrong {
			at := fmt.Sprintf("%s.managedFieldsManagers[%d]", w.Name, i)
			out = append(out, j.ruleFinding(u, at, fmt.Sprintf("%s of %s: no field manager is called %q", w.Name, u.Name(), m), "write "+right))
		}
	}
	return out
}

// pointlessQuery looks at an expression that was run. One that selects nothing may be meant for what only the cluster has.
func (j *checker) pointlessQuery(w *writtenRule, n int, about []described) (Finding, bool) {
	q := w.Queries[n]
	var why error
	for _, d := range about {
		a, asked := d.unit.Answers[d.object.ID][q]
		if _, plain := pointerOf(q); plain || !asked || a.Err == nil && len(a.Git) > 0 {
			return Finding{}, false
		}
		why = a.Err
	}
	f := j.ruleFinding(w.units[0], fmt.Sprintf("%s.jqPathExpressions[%d]", w.Name, n), "selects nothing of what Git describes", "correct the expression, unless it is meant for what only the cluster has")
	f.Severity = Info
	if why != nil {
		f.Message, f.Remedy, f.Severity = "has no answer: "+why.Error(), "correct the expression", Warning
	}
	return f, true
}

// misnamed are managers that never write, and the names that are meant.
var misnamed = map[string]string{
	"horizontal-pod-autoscaler": "kube-controller-manager", "horizontalpodautoscaler": "kube-controller-manager", "hpa": "kube-controller-manager",
	"hpa-controller": "kube-controller-manager", "autoscaler": "kube-controller-manager", "HorizontalPodAutoscaler": "kube-controller-manager",
}

// ruleFinding is one about what a custom resource says.
func (j *checker) ruleFinding(u *discover.Unit, at, message, remedy string) Finding {
	return Finding{Unit: u.Name(), Object: u.Resource.ID(), Place: j.files.said(u, at), Message: message, Remedy: remedy}
}

func objectData(u *discover.Unit) []object.Object {
	out := make([]object.Object, len(u.Objects))
	for i, o := range u.Objects {
		out[i] = o.Data
	}
	return out
}

// pointers are those of the rule and what its plain expressions name, in the order of both.
func (w *writtenRule) pointers() []field.Pointer {
	out := append([]field.Pointer{}, w.Pointers...)
	for _, q := range w.Queries {
		if p, plain := pointerOf(q); plain {
			out = append(out, p)
		}
	}
	return out
}

// partAt names the field in which the custom resource writes the n-th of the rule's pointers.
func (w *writtenRule) partAt(u *discover.Unit, n int) string {
	if n >= len(w.Pointers) {
		return w.Name + ".jqPathExpressions"
	}
	list := "jsonPointers"
	switch {
	case strings.HasPrefix(w.Name, "spec.ignore["):
		list = "paths"
	case u.Dialect == discover.Flux:
		list = "jsonPatches"
	}
	return fmt.Sprintf("%s.%s[%d]", w.Name, list, n)
}

// nowhere says why none of the objects can have such a field; empty if one has it, or may come to have it.
func (j *checker) nowhere(p field.Pointer, about []described) string {
	why := ""
	for _, d := range about {
		t, known := j.schemas.Of(d.object.GVK)
		if !known {
			return ""
		}
		bad := unheardOf(t, p)
		if bad == "" {
			return ""
		}
		if why == "" {
			why = "names nothing of " + d.id().String() + bad
		}
	}
	return why
}

// unheardOf says where a pointer leaves what objects of a type can have.
func unheardOf(t *schema.Type, p field.Pointer) string {
	for i, token := range p {
		switch t.Form() {
		case schema.Record:
			next, there := t.Field(token)
			if !there {
				return fmt.Sprintf(": there is no field %q%s", token, meantBy(p[:i], token, p[i+1:], t))
			}
			t = next
		case schema.List, schema.Set, schema.Keyed:
			if _, err := strconv.ParseUint(token, 10, 32); err != nil {
				return fmt.Sprintf(": %s is a list, of which %q is no position", p[:i], token)
			}
			t = t.Item()
		case schema.Map:
			t = t.Item()
		case schema.Scalar, schema.Quantity:
			return fmt.Sprintf(": %s holds no fields", p[:i])
		default:
			return ""
		}
	}
	return ""
}

// meantBy is the question whether another name was meant: one that is near, one further down, or all of them parted by dots.
func meantBy(before field.Pointer, token string, after field.Pointer, t *schema.Type) string {
	with := func(p ...string) string {
		all := append(append(append(field.Pointer{}, before...), p...), after...)
		return ": did you mean " + all.String() + "?"
	}
	if parts := strings.Split(strings.Trim(token, "."), "."); len(parts) > 1 {
		return with(parts...)
	}
	if near := ignore.NearWords(token, t.Fields()); len(near) > 0 {
		return with(near[0])
	}
	if spec, there := t.Field("spec"); there && spec.Form() == schema.Record {
		if _, there := spec.Field(token); there {
			return with("spec", token)
		}
	}
	return ""
}
