package cluster

import (
	"cmp"
	"slices"
)

// Namespaces are those whose custom resources a truce works for; none means those of the whole cluster. Several truces, each with
// namespaces of its own, work side by side in one cluster.
type Namespaces []string

// Limited reports whether there are namespaces that the truce does not work for.
func (n Namespaces) Limited() bool { return len(n) > 0 }

// Cover reports whether the truce works for a namespace.
func (n Namespaces) Cover(namespace string) bool {
	return !n.Limited() || slices.Contains(n, namespace)
}

// Each lists what to ask the server for: every namespace by itself, or "" for all of them at once.
func (n Namespaces) Each() []string {
	if !n.Limited() {
		return []string{""}
	}
	return n
}

// Home is where the truce keeps what is about itself: its Lease, the ConfigMap in which it says how it runs, the one that adds to its claims, and its
// Secrets. It is the namespace that is named for that, else the first of those that it works for, else the client's own.
func (n Namespaces) Home(named, own string) string { return cmp.Or(named, n.Each()[0], own) }
