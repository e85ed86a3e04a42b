package claim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// unbounded is the greatest value of a claimant that names none.
const unbounded = 1<<31 - 1

// Read returns what the object claims: nothing, one thing, or several (a Rollout writes to Services and to a Deployment).
// A claimant on its way out (deletionTimestamp) claims nothing any more.
func (c *Catalogue) Read(o object.Object) []Claimant {
	if o == nil || o.At("metadata", "deletionTimestamp") != nil {
		return nil
	}
	id := o.ID()
	var out []Claimant
	for _, r := range c.objects[object.ID{Group: id.Group, Kind: id.Kind}] {
		if r.entry.Do == Known || !r.evidence.holds(o) {
			continue
		}
		for _, target := range r.evidence.targets(o, r.entry.On) {
			if matchesKind(r.entry.On, target.id) || target.any && onKindName(r.entry.On, target.id) {
				out = append(out, r.claimant(o, target))
			}
		}
	}
	return out
}

// onKindName is onKind for a reference that names no group.
func onKindName(all []Kind, id object.ID) bool {
	return slices.ContainsFunc(all, func(k Kind) bool { return matchesGlob(k.kind, id.Kind) })
}

func (e Evidence) holds(o object.Object) bool {
	for _, c := range e.When {
		v := valueText(c.Path.get(o))
		if len(c.In) > 0 && !slices.Contains(c.In, v) || slices.Contains(c.Not, v) {
			return false
		}
	}
	return true
}

// reference is what a claimant names.
type reference struct {
	id  object.ID
	any bool // it names no group
	gvk object.GVK
	at  string // the path of the reference

	items string // as in Claimant
}

func (e Evidence) targets(o object.Object, on []Kind) []reference {
	switch {
	case e.Refers.given():
		return e.referred(o)
	case e.Namespace:
		var out []reference
		for _, k := range on {
			out = append(out, reference{id: object.ID{Group: k.group, Kind: k.kind, Namespace: o.Namespace()}, at: "its namespace"})
		}
		return out
	}
	var out []reference
	for _, p := range e.Names {
		for _, ptr := range p.pointers(o) {
			v, _ := resolvePointer(map[string]any(o), ptr)
			name, _ := v.(string)
			id := object.ID{Group: e.To.group, Kind: e.To.kind, Namespace: o.Namespace(), Name: name}
			next := reference{id: id, at: p.String(), items: e.namedItems(o, p, ptr)}
			if name != "" && !slices.ContainsFunc(out, func(r reference) bool { return r.id == id && r.items == next.items }) {
				out = append(out, next)
			}
		}
	}
	return out
}

// namedItems lists, a line each, the items that the object names for a reference at a place of the path. Where the two paths begin alike
// they mean the same item of the object's own lists.
func (e Evidence) namedItems(o object.Object, names Path, at field.Pointer) string {
	var out []string
	for _, p := range e.Items {
		n := 0
		for n < min(len(p.steps), len(names.steps)) && p.steps[n] == names.steps[n] {
			n++
		}
		within, _ := resolvePointer(map[string]any(o), at[:n])
		walkSteps(within, p.steps[n:], nil, func(ptr field.Pointer) {
			v, _ := resolvePointer(within, ptr)
			if text := valueText(v); text != "" && !slices.Contains(out, text) {
				out = append(out, text)
			}
		})
	}
	return strings.Join(out, "\n")
}

// referred reads {apiVersion, kind, name}. A group that is not named is any.
func (e Evidence) referred(o object.Object) []reference {
	ref, _ := e.Refers.get(o).(map[string]any)
	str := func(key string) string { s, _ := ref[key].(string); return s }
	id := object.ID{Kind: str("kind"), Namespace: o.Namespace(), Name: str("name")}
	group, _, grouped := strings.Cut(str("apiVersion"), "/")
	if grouped {
		id.Group = group
	}
	anyGroup := str("apiVersion") == ""
	if id.Kind == "" && e.To.given() {
		id.Kind = e.To.kind
	}
	if anyGroup && e.To.given() {
		id.Group, anyGroup = e.To.group, false
	}
	if id.Kind == "" || id.Name == "" {
		return nil
	}
	out := reference{id: id, any: anyGroup, at: e.Refers.String()}
	if v := str("apiVersion"); v != "" {
		out.gvk = object.Object{"apiVersion": v, "kind": id.Kind}.GVK()
	}
	return []reference{out}
}

func (r rule) claimant(o object.Object, to reference) Claimant {
	c := Claimant{
		ID: o.ID(), Target: to.id, At: to.gvk, anyGroup: to.any, Entry: r.entry.ID, entry: r.entry,
		Idle: r.evidence.idle(o), Scaled: lastScaling(o), Owner: controllerOf(o), except: r.evidence.except(o), items: to.items,
	}
	c.App, _ = o.Label(object.PartOf)
	c.Min, c.Max = r.entry.Count.bounds(o)
	c.Evidence = c.sentence(to.at)
	return c
}

// lastScaling reads what the object's status says of its own last write, as HPAs have it.
func lastScaling(o object.Object) Scaling {
	to, ok := field.WholeNumber(o.At("status", "desiredReplicas"))
	at, err := time.Parse(time.RFC3339, valueText(o.At("status", "lastScaleTime")))
	if !ok || err != nil {
		return Scaling{}
	}
	return Scaling{To: to, At: at.Unix()}
}

func (c Claimant) sentence(at string) string {
	what := c.Target.Kind + " " + c.Target.Name
	if c.Target.Name == "" {
		what = "every " + c.Target.Kind
	}
	switch {
	case !c.Counts():
		what = "writes to " + what
	case c.Max == unbounded:
		what = fmt.Sprintf("scales %s from %d up", what, c.Min)
	default:
		what = fmt.Sprintf("scales %s between %d and %d", what, c.Min, c.Max)
	}
	return fmt.Sprintf("%s %s (%s)", objectName(c.ID), what, at)
}

// idle says why the claimant does nothing at present, and since when: the reason of the first False condition that matters.
func (e Evidence) idle(o object.Object) string {
	list, _ := o.At("status", "conditions").([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		reason := valueText(m["reason"])
		if valueText(m["status"]) == "False" && slices.Contains(e.Acts, valueText(m["type"])) && !slices.Contains(e.Resting, reason) {
			return valueText(m["type"]) + " is False" + inBrackets(reason) + sinceWhen(valueText(m["lastTransitionTime"]))
		}
	}
	return ""
}

func sinceWhen(at string) string {
	if at == "" {
		return ""
	}
	return " since " + at
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// except lists, as one text, those of the targets that the claimant leaves alone: "Deployment/web,".
func (e Evidence) except(o object.Object) string {
	var b strings.Builder
	if e.Except.given() {
		for _, v := range e.Except.values(o) {
			m, _ := v.(map[string]any)
			fmt.Fprintf(&b, "%s/%s,", valueText(m["kind"]), valueText(m["name"]))
		}
	}
	return b.String()
}

// spares reports whether the claimant leaves the object alone.
func (c Claimant) spares(id object.ID) bool {
	return c.except != "" && strings.Contains(","+c.except, ","+id.Kind+"/"+id.Name+",")
}

// controllerOf returns the object that made this one and answers for it.
func controllerOf(o object.Object) object.ID {
	list, _ := o.At("metadata", "ownerReferences").([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		if m["controller"] != true {
			continue
		}
		group, _, ok := strings.Cut(valueText(m["apiVersion"]), "/")
		if !ok {
			group = ""
		}
		return object.ID{Group: group, Kind: valueText(m["kind"]), Namespace: o.Namespace(), Name: valueText(m["name"])}
	}
	return object.ID{}
}

// bounds reads the least and the greatest value from the claimant, or from the object that bears the mark.
func (c *Count) bounds(o object.Object) (least, most int64) {
	if c == nil {
		return 0, 0
	}
	if n, ok := wholeNumber(c.Fixed, o); ok {
		return n, n
	}
	least, most = c.Least, c.Most
	if n, ok := wholeNumber(c.Min, o); ok {
		least = n
	}
	if n, ok := wholeNumber(c.Max, o); ok {
		most = n
	}
	if most == 0 {
		most = unbounded
	}
	return least, most
}

// wholeNumber reads a whole number, also one that is written as a text, as in annotations.
func wholeNumber(p Path, o object.Object) (int64, bool) {
	if !p.given() {
		return 0, false
	}
	v := p.get(o)
	if s, ok := v.(string); ok {
		n, err := strconv.ParseInt(s, 10, 32)
		return n, err == nil && n >= 0
	}
	n, ok := field.WholeNumber(v)
	return n, ok && n >= 0
}

// String returns what a claimant claims, and why it does nothing at present.
func (c Claimant) String() string {
	if c.Idle == "" {
		return c.Evidence
	}
	return c.Evidence + "; stands still: " + c.Idle
}

// Unbounded reports whether nothing says how great the number may become.
func (c Claimant) Unbounded() bool { return c.Max == unbounded }
