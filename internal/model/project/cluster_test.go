package project_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
)

func TestAClusterManagesItsNamespacesAlone(t *testing.T) {
	some := project.Cluster{Name: "prod", Namespaces: []string{"shop", "bank"}}
	global := some
	global.Global = true
	for name, c := range map[string]struct {
		of      project.Cluster
		id      object.ID
		managed bool
	}{
		"all of it":                              {project.Cluster{Name: "prod"}, object.ID{Kind: "Namespace", Name: "a"}, true},
		"one of its namespaces":                  {some, object.ID{Kind: "ConfigMap", Namespace: "bank", Name: "a"}, true},
		"another namespace":                      {some, object.ID{Kind: "ConfigMap", Namespace: "ban", Name: "a"}, false},
		"an object of the cluster":               {some, object.ID{Kind: "Namespace", Name: "shop"}, false},
		"an object of the cluster, with a right": {global, object.ID{Kind: "Namespace", Name: "shop"}, true},
	} {
		if why := c.of.RefusalOf(c.id); (why == "") != c.managed {
			t.Errorf("%s: refused: %q", name, why)
		}
	}
}

// TestAClusterThatIsNotKnownIsNotJudged: a project may name by its name what an app names by its address.
func TestAClusterThatIsNotKnownIsNotJudged(t *testing.T) {
	p := project.Project{Namespace: "argocd", Name: "team", Repositories: []string{"*"}, Destinations: []project.Destination{{Name: "prod", Namespace: "*"}}}
	m := member("https://git.example/a")
	for _, c := range []struct {
		at      project.Destination
		permits bool
	}{
		{project.Destination{Server: "https://10.0.0.1", Namespace: "shop"}, true},
		{project.Destination{Server: "https://10.0.0.1", Name: "prod", Namespace: "shop"}, true},
		{project.Destination{Server: "https://10.0.0.1", Name: "test", Namespace: "shop"}, false},
	} {
		m.Destination = c.at
		if why := p.Refusal(m); (why == "") != c.permits {
			t.Errorf("%+v: refused: %q", c.at, why)
		}
	}
	p.OnlyOwnClusters, m.Destination = true, project.Destination{Server: "https://10.0.0.1", Name: "prod", Namespace: "shop"}
	for of, permits := range map[string]bool{"": false, "other": false, "team": true} {
		m.Cluster.Project = of
		if why := p.Refusal(m); (why == "") != permits {
			t.Errorf("a cluster of project %q: refused: %q", of, why)
		}
	}
}
