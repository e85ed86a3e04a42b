package ignore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// hint says, after "covers no field", why. It is empty while the object is not in the cluster: it may still come to have the field.
func (p part) hint(s Observed) string {
	switch {
	case s.Live == nil:
		return ""
	case p.pointer != nil:
		return ", neither in Git nor in the cluster" + misspelt(p.pointer, s)
	case p.query != "":
		return ", neither in Git nor in the cluster"
	}
	return " that Git names" + writers(s, p.manager)
}

// misspelt asks whether another name was meant where the pointer leaves the object.
func misspelt(p field.Pointer, s Observed) string {
	for _, o := range []object.Object{s.Desired, s.Live} {
		var v any = map[string]any(o)
		i := 0
		for ; i < len(p); i++ {
			next, there := field.ChildValue(v, field.Element{FieldName: &p[i]})
			if !there {
				break
			}
			v = next
		}
		m, ok := v.(map[string]any)
		if !ok || i == len(p) {
			continue
		}
		if found := NearWords(p[i], slices.Sorted(maps.Keys(m))); len(found) > 0 {
			return ": did you mean " + append(slices.Clone(p[:i]), found[0]).String() + "?"
		}
	}
	return ""
}

// writers says who has written to the object, if the manager has not.
func writers(s Observed, manager string) string {
	var all []string
	for _, o := range s.Owners {
		if o.Manager != ownership.Manager && o.Manager != ownership.Handover {
			all = appendMissing(all, []string{o.Manager})
		}
	}
	switch q := suggestion(manager, all); {
	case slices.Contains(all, manager):
		return "" // it owns other fields
	case len(all) == 0:
		return "; no other manager has written to " + s.Desired.ID().String()
	case q != "":
		return q
	}
	return "; those who have written to " + s.Desired.ID().String() + " are " + firstWords(all)
}

// counts reports whether the part names list items by their positions.
func (p part) counts(s Observed) bool {
	return p.query != "" && s.Answers[p.query].Positional || p.pointer != nil && hasPosition(p.pointer)
}

// fragile says which item is meant now, and how it is named firmly.
func (p part) fragile(s Observed) string {
	for _, path := range p.paths(s) {
		at := slices.IndexFunc(path, func(e field.Element) bool { return e.Key != nil || e.Index != nil })
		if at < 0 {
			continue
		}
		return fmt.Sprintf("in %s it means %s as Git has it now, and another one when Git's list has another order; %s",
			s.Desired.ID(), field.PathString(path), keyedQuery(path, at))
	}
	return ""
}

// keyedQuery is a jq expression that names the item by its keys.
func keyedQuery(path field.Path, at int) string {
	if path[at].Key == nil {
		return "name it by what is in it, with a jq expression"
	}
	var wants []string
	for _, k := range *path[at].Key {
		wants = append(wants, jqField(k.Name)+" == "+jqValue(k.Value.Unstructured()))
	}
	query := jqPathText(path[:at]) + "[] | select(" + strings.Join(wants, " and ") + ")"
	if rest := path[at+1:]; len(rest) > 0 {
		query += " | " + jqPathText(rest)
	}
	return "the jq expression " + query + " would stay right"
}

func jqPathText(p field.Path) string {
	var b strings.Builder
	for _, e := range p {
		switch {
		case e.FieldName != nil:
			b.WriteString(jqField(*e.FieldName))
		case e.Index != nil:
			fmt.Fprintf(&b, "[%d]", *e.Index)
		default:
			b.WriteString("[]")
		}
	}
	return b.String()
}

func jqField(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return "." + name
	}
	return ".[" + strconv.Quote(name) + "]"
}

func jqValue(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}
