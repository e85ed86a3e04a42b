package rules

import (
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/project"
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

func (j *checker) objectsOutsideOfProject(u discover.Unit, bounds []project.Project) []Finding {
	var out []Finding
	for _, o := range u.Objects {
		why := everyRefusal(bounds, func(p project.Project) string { return p.RefusalOf(o.ID, u.App.Member.Destination) })
		if why != "" {
			out = append(out, Finding{Unit: u.Name(), Object: o.ID, Place: j.files.whole(o), Message: o.ID.String() + " is refused by truce: " + why, Remedy: "permit it in the AppProject, or leave it out"})
		}
	}
	return out
}

// refusalIn says why an app may not be in a project. The namespace of one of the two may be given where they are applied.
func refusalIn(p project.Project, m project.Member) string {
	if p.Namespace == "" || m.Namespace == "" {
		p.Namespace, m.Namespace = "", ""
	}
	if found, why := project.ForMember(m, []project.Project{p}); found == nil {
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

// projects are the AppProjects of the repository by name.
func (j *checker) projects() map[string][]project.Project {
	out := map[string][]project.Project{}
	for _, o := range j.objects() {
		if o.Data.GVK() == (argocd.Projects{}).Kind() {
			p := argocd.Projects{}.Project(o.Data)
			out[p.Name] = append(out[p.Name], p)
		}
	}
	return out
}
