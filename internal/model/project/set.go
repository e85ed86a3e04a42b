package project

import (
	"fmt"
	"slices"
	"strings"
)

// Default is the project of an app that names none. Where it does not exist it permits all, as the one that Argo CD creates.
const Default = "default"

// ArgoNamespace is where Argo CD, its projects and its settings are, unless it was installed elsewhere.
const ArgoNamespace = "argocd"

// Known is what is known of the projects of a cluster.
type Known struct {
	State   State
	All     []Project
	Globals []Global
	Err     error // why they are Refused
}

// In is what a controller knows that works for some namespaces alone; none means all.
func (k Known) In(namespaces []string) Known {
	if len(namespaces) > 0 {
		k.All = slices.DeleteFunc(slices.Clone(k.All), func(p Project) bool { return !slices.Contains(namespaces, p.Namespace) })
		k.Globals = slices.DeleteFunc(slices.Clone(k.Globals), func(g Global) bool { return !slices.Contains(namespaces, g.Namespace) })
	}
	return k
}

// State says what is known of projects.
type State string

// The values of State.
const (
	Awaited  State = ""         // nothing yet: they are being listed
	Listed   State = "listed"   // all are known
	Unserved State = "unserved" // the API server has no such kind: there are none
	Refused  State = "refused"  // they may not be read
)

// ForMember returns the project that an app names, with what it inherits, or why it may not; nil without a reason where none bounds it. It is the one in the app's
// namespace, else the one elsewhere that admits apps of this namespace.
func (k Known) ForMember(m Member) (*Project, string) {
	p, why := k.named(m)
	if p == nil {
		return nil, why
	}
	whole := k.Inherit(*p)
	return &whole, ""
}

func (k Known) named(m Member) (*Project, string) {
	var elsewhere, admitting []Project
	for _, p := range k.All {
		switch {
		case p.Name != m.Project:
		case p.Namespace == m.Namespace:
			return &p, ""
		case p.admits(m.Namespace):
			admitting = append(admitting, p)
		default:
			elsewhere = append(elsewhere, p)
		}
	}
	switch {
	case len(admitting) == 1:
		return &admitting[0], ""
	case len(admitting) > 1:
		return nil, fmt.Sprintf("AppProject %s is in several namespaces that admit applications of namespace %s: %s", m.Project, m.Namespace, namespacesOf(admitting))
	case len(elsewhere) > 0:
		return nil, fmt.Sprintf("application '%s' in namespace '%s' is not permitted to use project '%s' of namespace %s (spec.sourceNamespaces)",
			m.Name, m.Namespace, m.Project, namespacesOf(elsewhere))
	case m.Project == Default:
		return nil, ""
	}
	return nil, fmt.Sprintf("Application referencing project %s which does not exist", m.Project)
}

func namespacesOf(all []Project) string {
	var names []string
	for _, p := range all {
		names = append(names, p.Namespace)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
