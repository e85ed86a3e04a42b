package project

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/selector"
)

// Global says that what a project permits and denies holds for others of its namespace, too: the entry of globalProjects in Argo CD's ConfigMap argocd-cm.
type Global struct {
	Namespace string
	Project   string            // the name of the one that others inherit
	Selects   selector.Selector // those that inherit, by their labels
	Problem   string            // why it is not known what is inherited: no project of the namespace can be followed then
}

// Anywhere is what is known where namespaces are not: each project and setting is taken for one of the same namespace.
func (k Known) Anywhere() Known {
	k.All, k.Globals = slices.Clone(k.All), slices.Clone(k.Globals)
	for i := range k.All {
		k.All[i].Namespace = ""
	}
	for i := range k.Globals {
		k.Globals[i].Namespace = ""
	}
	return k
}

// IsGlobal reports whether other projects may inherit from the one of this name.
func (k Known) IsGlobal(namespace, name string) bool {
	return slices.ContainsFunc(k.Globals, func(g Global) bool { return g.Namespace == namespace && g.Project == name })
}

// Inherit is a project with what global projects of its namespace permit and deny: each list goes on with theirs, as in Argo CD.
func (k Known) Inherit(p Project) Project {
	for _, g := range k.Globals {
		switch {
		case g.Namespace != p.Namespace:
		case g.Problem != "":
			p.Problems = append(slices.Clip(p.Problems), g.Problem)
		case g.Project != p.Name && g.Selects.Matches(p.Labels):
			i := slices.IndexFunc(k.All, func(other Project) bool { return other.Namespace == g.Namespace && other.Name == g.Project })
			if i >= 0 {
				p = p.with(k.All[i])
			}
		}
	}
	return p
}

func (p Project) with(global Project) Project {
	p.Repositories = slices.Concat(p.Repositories, global.Repositories)
	p.Destinations = slices.Concat(p.Destinations, global.Destinations)
	p.Cluster, p.Namespaced = p.Cluster.with(global.Cluster), p.Namespaced.with(global.Namespaced)
	p.Windows = slices.Concat(p.Windows, global.Windows)
	p.Problems = slices.Concat(p.Problems, global.Problems)
	return p
}

// with has no list of what is allowed where neither has one.
func (k Kinds) with(global Kinds) Kinds {
	return Kinds{
		AllowsAll: k.AllowsAll && global.AllowsAll, Allowed: slices.Concat(k.Allowed, global.Allowed), Denied: slices.Concat(k.Denied, global.Denied),
	}
}
