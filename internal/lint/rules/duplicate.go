package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func duplicateKey() rule {
	return rule{Rule: Rule{
		ID: "duplicate-key", Severity: Error,
		Title: "a list names one item twice",
		Reason: "Environment variables, ports, volumes, mounts and containers have keys. A server-side apply (Flux, truce, Argo CD with " +
			"ServerSideApply) of a list in which two items have the same key is refused as a whole. An apply of the older form takes both of " +
			"some lists; the next change drops one of the two, and it is not defined which.",
		Remedy: "Leave one of the two.",
		Source: "measured on kube-apiserver 1.37: HTTP 500, failed to create typed patch object: duplicate entries for key, for env, ports, volumes, " +
			"volumeMounts, containers, Service ports and finalizers; names of ports are refused as a duplicate value (422)",
	}, check: (*checker).duplicateKey}
}

func (j *checker) duplicateKey() []Finding {
	return j.walked().twice
}

func (j *checker) twinsAt(u discover.Unit, o desired.Object, at spot) []Finding {
	var out []Finding
	for _, t := range duplicateItems(at) {
		out = append(out, j.twice(u, o, at, t))
	}
	return out
}

// duplicateItem is an item that says the same as an earlier one.
type duplicateItem struct {
	first, second int
	by            string // what is the same in both
}

func duplicateItems(at spot) []duplicateItem {
	list, ok := at.value.([]any)
	if !ok {
		return nil
	}
	var out []duplicateItem
	switch at.kind.Form() {
	case schema.Set:
		out = duplicatesBy(list, func(v any) string { return fmt.Sprint(v) })
	case schema.Keyed:
		out = duplicatesBy(list, func(v any) string { return printKeys(v, at.kind.Keys()) })
		if isPorts(at.kind) {
			out = append(out, duplicatesBy(list, func(v any) string { return printKeys(v, []string{"name"}) })...)
		}
	default: // its items have no names
	}
	return out
}

// isPorts reports whether the list is one of ports, whose names are unique too, though they are no keys.
func isPorts(list *schema.Type) bool {
	return slices.Contains(list.Keys(), "protocol") && hasField(list.Item(), "name")
}

func duplicatesBy(list []any, by func(any) string) []duplicateItem {
	first := map[string]int{}
	var out []duplicateItem
	for i, v := range list {
		key := by(v)
		if at, ok := first[key]; ok && key != "" {
			out = append(out, duplicateItem{first: at, second: i, by: key})
			continue
		}
		first[key] = i
	}
	return out
}

// printKeys prints the keys of an item; empty for one that has none of them.
func printKeys(item any, keys []string) string {
	m, _ := item.(map[string]any)
	var out []string
	for _, k := range keys {
		if v, ok := m[k]; ok {
			out = append(out, fmt.Sprintf("%s %v", k, v))
		} else if k == "protocol" && len(out) > 0 {
			out = append(out, "protocol TCP") // the default of the key, for ports of containers and Services
		}
	}
	return strings.Join(out, ", ")
}

func (j *checker) twice(u discover.Unit, o desired.Object, at spot, t duplicateItem) Finding {
	list, _ := at.value.([]any)
	f := Finding{
		Unit: u.Name(), Object: o.ID, Path: at.path,
		Message: fmt.Sprintf("%s %s: %s has two items with %s", o.ID.Kind, o.ID.Name, field.PathString(at.path), t.by),
		Remedy:  "leave one of the two",
	}
	if nodes := j.files.items(u, o, at.path, len(list)); nodes != nil {
		file := j.files.value(u, o, at.path).File
		f.Place, f.Others = nodePlace(file, nodes[t.second]), []desired.Place{nodePlace(file, nodes[t.first])}
		return f
	}
	// The list is put together of several places: a patch adds to it.
	item := func(i int) desired.Place {
		return j.files.place(u, o, append(slices.Clip(at.path), field.Element{Index: &i}))
	}
	f.Place = item(t.second)
	if first := item(t.first); first.Exact && first != f.Place {
		f.Others = []desired.Place{first}
	}
	return f
}
