package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func refusedByTruce() rule {
	return rule{Rule{
		ID: "refused-by-truce", Severity: Info,
		Title: "a resource of Flux or Argo CD that truce refuses, or does not read",
		Reason: "A field that would change the result, and that truce does not support, makes truce refuse the app or source: nothing of it is " +
			"applied. A kind that truce does not read does nothing while truce alone works. A version that newer releases of Flux have removed keeps working only while the definition in the cluster serves it. Each is worth knowing before a change from " +
			"Flux or Argo CD to truce.",
		Remedy: "Leave the resource to the other controller, or do without the field. docs/supported.md lists what is supported.",
		Source: "truce's own reading of the resource",
	}, func(j *checker) []Finding {
		return slices.Concat(j.outdated(), j.refusedApps(), j.refusedByProjects(), j.refusedObjects())
	}}
}

const refusedRemedy = "correct or remove the field, or leave the resource to its own controller"

func (j *checker) refusedApps() []Finding {
	var out []Finding
	for i := range j.discovery.Units {
		u := &j.discovery.Units[i]
		if u.App.Release != nil {
			continue // refusedObjects has it, also where its chart is not looked into
		}
		_, old := readVersion(u.Resource.GVK())
		for _, p := range u.App.Problems {
			if old && p.Field == "apiVersion" {
				continue // outdated has it
			}
			out = append(out, j.ruleFinding(u, p.Field, u.Name()+" is refused by truce: "+p.String(), refusedRemedy))
		}
	}
	return out
}

// refusedObjects finds sources and HelmReleases with problems, and kinds that are not read: one finding for a kind.
func (j *checker) refusedObjects() []Finding {
	var out []Finding
	unread := map[object.GVK]int{}
	for u, o := range j.objects() {
		gvk := o.Data.GVK()
		if problems, read := problemsOf(atReadVersion(o.Data)); read {
			out = append(out, j.refusedObject(u, o, problems)...)
			continue
		}
		if !isOfTools(gvk) {
			continue
		}
		if i, known := unread[gvk]; known {
			if at := j.files.whole(o); !slices.Contains(out[i].Others, at) {
				out[i].Others = append(out[i].Others, at)
			}
			continue
		}
		unread[gvk] = len(out)
		out = append(out, Finding{
			Unit: u.Name(), Object: o.ID, Place: j.files.whole(o), Message: fmt.Sprintf("%s of %s is not read by truce", gvk.Kind, gvk.Group+"/"+gvk.Version), Remedy: "leave it to its own controller",
		})
	}
	return out
}

// problemsOf returns why truce refuses a custom resource, and whether it reads it at all. An app that is a unit has none here.
func problemsOf(o object.Object) (problems []app.Problem, read bool) {
	gvk := o.GVK()
	if reader := registry.Sources()[gvk]; reader != nil {
		return reader.Source(o).Problems, true
	}
	if reader := registry.AppDialects()[gvk]; reader != nil {
		if gvk.Kind == "HelmRelease" { // the others are units
			problems = reader.App(o, policy.Policy{}).Problems
		}
		return problems, true
	}
	if gvk == (argocd.Projects{}).Kind() {
		for _, why := range (argocd.Projects{}).Project(o).Problems {
			problems = append(problems, app.Problem{Reason: why})
		}
		return problems, true
	}
	return registry.NotificationProblems(o)
}

func (j *checker) refusedObject(u discover.Unit, o desired.Object, problems []app.Problem) []Finding {
	var out []Finding
	for _, p := range problems {
		at := j.files.place(u, o, field.NewPath(strings.Split(p.Field, ".")...))
		out = append(out, Finding{Unit: u.Name(), Object: o.ID, Place: at, Message: o.ID.String() + " is refused by truce: " + p.String(), Remedy: refusedRemedy})
	}
	return out
}

// isOfTools reports whether a kind says to Flux or Argo CD what to do. An ApplicationSet that is not looked into is listed as that.
func isOfTools(gvk object.GVK) bool {
	return strings.HasSuffix(gvk.Group, ".toolkit.fluxcd.io") || gvk.Group == "argoproj.io" && gvk.Kind == "Application"
}
