// Package ownership answers: who owns which field of an object, and who set it?
//
// In: the metadata.managedFields that the API server keeps in an object (KEP-555, server-side apply).
// Out: Entries (one manager each), Shapes (the fields that one owns), hashes of what they hold, the Writer of a field.
// Promise: pure; an entry that cannot be read is an error, never an empty one.
// Not here: which differences matter (ignore, claim, compare), the merge itself (the API server's).
package ownership

import (
	"fmt"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// The field managers that truce writes as. Manager owns what Git names; Handover keeps a ceded field
// alive until its claimant writes it.
const (
	Manager  = "truce"
	Handover = "truce-handover"
)

// Entry is one entry of metadata.managedFields: a manager, how it wrote, and the fields that it owns.
type Entry struct {
	Manager     string
	Operation   string    // Apply or Update
	Subresource string    // scale, status, or empty
	APIVersion  string    // the version that the fields are named in
	Time        time.Time // of the entry's last change; zero where the server recorded none (scale writes)
	Fields      Shape     // of the subresource status, those of the metadata: Git names nothing of the status itself
}

// String names the writer as truce shows it: "kubectl (scale)".
func (o Entry) String() string {
	if o.Subresource == "" {
		return o.Manager
	}
	return o.Manager + " (" + o.Subresource + ")"
}

// IsApply reports whether the entry is manager's own server-side apply entry on the main resource.
func (o Entry) IsApply(manager string) bool {
	return o.Manager == manager && o.Operation == "Apply" && o.Subresource == ""
}

// Entries reads metadata.managedFields. An object without them has no owners; a malformed entry is an error.
func Entries(o object.Object) ([]Entry, error) { return Shape{}.Entries(o) }

// Entries is what the function of that name returns. Where the fields of our own entry are the shape's, they are the shape itself:
// what is known is not read again.
func (s Shape) Entries(o object.Object) ([]Entry, error) {
	list, _ := o.At("metadata", "managedFields").([]any)
	out := make([]Entry, 0, len(list))
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("metadata.managedFields[%d] is a %T, want a map", i, e)
		}
		owner, err := newOwner(m, s)
		if err != nil {
			return nil, fmt.Errorf("metadata.managedFields[%d]: %w", i, err)
		}
		out = append(out, owner)
	}
	return out, nil
}

func newOwner(m map[string]any, ours Shape) (Entry, error) {
	str := func(key string) string { s, _ := m[key].(string); return s }
	e := Entry{
		Manager: str("manager"), Operation: str("operation"), Subresource: str("subresource"),
		APIVersion: str("apiVersion"), Time: instant(str("time")),
	}
	fields, _ := m["fieldsV1"].(map[string]any)
	if e.Subresource == "status" {
		fields = onlyKey(fields, "f:metadata")
	}
	if e.IsApply(Manager) && matchesFields(ours.root, false, fields) {
		e.Fields = ours
		return e, nil
	}
	var err error
	if e.Fields, err = newShape(fields); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// onlyKey is the part of fieldsV1 at a key.
func onlyKey(fields map[string]any, key string) map[string]any {
	if part, there := fields[key]; there {
		return map[string]any{key: part}
	}
	return nil
}

// instant reads an entry's time; zero for none, since scale writes carry none.
func instant(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, text) // zero for what is no time
	return at
}

// ApplyEntry returns what manager owns by server-side apply; an empty Shape if it has no entry.
func ApplyEntry(owners []Entry, manager string) Shape {
	for _, o := range owners {
		if o.IsApply(manager) {
			return o.Fields
		}
	}
	return Shape{}
}

// OthersOf returns the owners of p that are not manager's apply entry, in the server's order.
func OthersOf(owners []Entry, manager string, p field.Path) []Entry {
	var out []Entry
	for _, o := range owners {
		if !o.IsApply(manager) && o.Owns(p, owners) {
			out = append(out, o)
		}
	}
	return out
}

// IsPerson reports whether the manager is a tool that people type into, not a controller.
// kubectl's verbs are upstream's names; the others are the user agents of known command lines and consoles. The manager rancher is none:
// Rancher's own controllers write in that name, and its console passes the browser's on.
func IsPerson(manager string) bool {
	if strings.HasPrefix(manager, "kubectl") {
		return true
	}
	switch manager {
	case "k9s", "oc", "Mozilla", "node-fetch", "OpenLens", "Lens", "Freelens", "headlamp", "dashboard", "argocd-server", "before-first-apply":
		return true
	}
	return false
}
