package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// refusedByProjects finds what the AppProjects of the repository do not permit: apps, and objects of them. Where the repository has several of the name, as
// for several clusters, each of them must refuse it.
func (j *checker) refusedByProjects() []Finding {
	known := j.projects()
	var out []Finding
	for i := range j.discovery.Units {
		u := &j.discovery.Units[i]
		bounds := known[u.App.Member.Project]
		if u.App.Member.Project == "" || len(bounds) == 0 {
			continue
		}
		if why := everyRefusal(bounds, func(p project.Project) string { return refusalIn(p, u.App.Member) }); why != "" {
			out = append(out, j.ruleFinding(u, "spec.project", u.Name()+" is refused by truce: "+why, "correct the AppProject, or what it does not permit"))
			continue
		}
		out = append(out, j.objectsOutsideOfProject(*u, bounds)...)
	}
	return out
}

// objectsOutsideOfProject has one finding for each reason.
func (j *checker) objectsOutsideOfProject(u discover.Unit, bounds []project.Project) []Finding {
	var out []Finding
	refused := map[string][]desired.Object{}
	for _, o := range u.Objects {
		if why := everyRefusal(bounds, func(p project.Project) string { return p.RefusalOf(o.ID, u.App.Member.Destination) }); why != "" {
			refused[why] = append(refused[why], o)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		first, others := refused[why][0], ""
		if n := len(refused[why]) - 1; n > 0 {
			others = fmt.Sprintf(" (and %d more)", n)
		}
		out = append(out, Finding{
			Unit: u.Name(), Object: first.ID, Place: j.files.whole(first), Message: first.ID.String() + others + " is refused by truce: " + why, Remedy: "permit it in the AppProject, or leave it out",
		})
	}
	return out
}

// refusalIn says why an app may not be in a project. The namespace of one of the two may be given where they are applied.
func refusalIn(p project.Project, m project.Member) string {
	if p.Namespace == "" || m.Namespace == "" {
		p.Namespace, m.Namespace = "", ""
	}
	if found, why := (project.Known{All: []project.Project{p}}).ForMember(m); found == nil {
		return why
	}
	return p.Refusal(m)
}

// everyRefusal is the first reason where each project has one; empty where one of them has none.
func everyRefusal(all []project.Project, refusal func(project.Project) string) string {
	first := ""
	for _, p := range all {
		why := refusal(p)
		if why == "" {
			return ""
		}
		if first == "" {
			first = why
		}
	}
	return first
}

// projects are the AppProjects of the repository by name, with what they inherit. The namespace of some may be given where they are applied: what names none is
// taken to be in default, and then the namespace distinguishes none. Where the repository does not show the settings of Argo CD, a project with labels may
// inherit more than is known, and is left out.
func (j *checker) projects() map[string][]project.Project {
	var known project.Known
	settings := false
	for _, o := range j.objects() {
		switch read := (argocd.Projects{}); o.Data.GVK() {
		case read.Kind():
			known.All = append(known.All, read.Project(o.Data))
		case object.GVK{Version: "v1", Kind: "ConfigMap"}:
			_, name := read.Settings()
			settings = settings || o.ID.Name == name
			known.Globals = append(known.Globals, read.Globals(o.Data)...)
		}
	}
	if slices.ContainsFunc(known.All, func(p project.Project) bool { return isNamespaceOpen(p.Namespace) }) || slices.ContainsFunc(known.Globals, func(g project.Global) bool { return isNamespaceOpen(g.Namespace) }) {
		known = known.Anywhere()
	}
	out := map[string][]project.Project{}
	for _, p := range known.All {
		if settings || len(p.Labels) == 0 {
			out[p.Name] = append(out[p.Name], known.Inherit(p))
		}
	}
	return out
}
