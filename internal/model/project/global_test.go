package project_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/model/selector"
)

func TestAProjectInheritsFromGlobalOnes(t *testing.T) {
	everywhere := []project.Destination{{Server: "*", Namespace: "*"}}
	own := project.Project{
		Namespace: "argocd", Name: "team", Labels: map[string]string{"global": "yes"}, Repositories: []string{"*"}, Destinations: everywhere,
		Namespaced: project.Kinds{Allowed: []project.Kind{{Group: "apps", Kind: "Deployment"}}},
	}
	open := own
	open.Namespaced = project.Kinds{AllowsAll: true}
	allows := project.Project{Namespace: "argocd", Name: "shared", Namespaced: project.Kinds{Allowed: []project.Kind{{Kind: "ConfigMap"}}}}
	denies := project.Project{Namespace: "argocd", Name: "shared", Namespaced: project.Kinds{AllowsAll: true, Denied: []project.Kind{{Kind: "ConfigMap"}}}}
	elsewhere := allows
	elsewhere.Namespace = "other"
	selects := func(value string) selector.Selector {
		s, err := selector.ReadSelector(map[string]any{"matchLabels": map[string]any{"global": value}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	cm := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	for name, c := range map[string]struct {
		own, global project.Project
		by          project.Global
		permits     bool
	}{
		"what it allows":                       {own, allows, project.Global{Namespace: "argocd", Project: "shared", Selects: selects("yes")}, true},
		"of other labels":                      {own, allows, project.Global{Namespace: "argocd", Project: "shared", Selects: selects("no")}, false},
		"a project that is not there":          {own, allows, project.Global{Namespace: "argocd", Project: "gone", Selects: selects("yes")}, false},
		"of another namespace":                 {own, elsewhere, project.Global{Namespace: "argocd", Project: "shared", Selects: selects("yes")}, false},
		"settings of another namespace":        {own, allows, project.Global{Namespace: "other", Project: "shared", Selects: selects("yes")}, false},
		"what it denies":                       {open, denies, project.Global{Namespace: "argocd", Project: "shared", Selects: selects("yes")}, false},
		"its list bounds one that has none":    {open, allows, project.Global{Namespace: "argocd", Project: "shared", Selects: selects("yes")}, true},
		"itself, once":                         {own, allows, project.Global{Namespace: "argocd", Project: "team", Selects: selects("yes")}, false},
		"settings that cannot be read":         {open, allows, project.Global{Namespace: "argocd", Problem: "globalProjects cannot be read"}, false},
		"unread settings of another namespace": {open, allows, project.Global{Namespace: "other", Problem: "globalProjects cannot be read"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			known := project.Known{State: project.Listed, All: []project.Project{c.own, c.global}, Globals: []project.Global{c.by}}
			p, why := known.ForMember(member("https://git.example/a"))
			if p == nil {
				t.Fatal(why)
			}
			why = p.RefusalOf(cm, here)
			if (why == "") != c.permits {
				t.Errorf("refused: %q", why)
			}
			if c.by.Problem != "" && !c.permits && !strings.Contains(why, c.by.Problem) {
				t.Errorf("refused: %q", why)
			}
		})
	}
	known := project.Known{All: []project.Project{open, allows}, Globals: []project.Global{{Namespace: "argocd", Project: "shared", Selects: selects("yes")}}}
	if why := known.Inherit(open).RefusalOf(object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "a"}, here); why == "" {
		t.Error("a kind that the list of the global project lacks is permitted")
	}
}
