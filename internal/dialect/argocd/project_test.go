package argocd

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/testing/given"
)

const projectText = `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: team, namespace: argocd}
spec:
  description: shop
  sourceRepos: ["https://git.example/shop/*"]
  sourceNamespaces: [shop-*]
  destinations: [{name: in-cluster, namespace: shop, server: https://kubernetes.default.svc}]
  clusterResourceWhitelist: [{group: "", kind: Namespace, name: shop-*}]
  namespaceResourceBlacklist: [{group: "", kind: ResourceQuota}]
  orphanedResources: {warn: true}
  roles: [{name: reader, policies: ["p, proj:team:reader, applications, get, team/*, allow"]}]
  destinationServiceAccounts: [{server: "*", namespace: shop, defaultServiceAccount: "tools:deployer"}]
  syncWindows: [{kind: deny, schedule: "0 22 * * *", duration: 1h, applications: ["*"], timeZone: Europe/Berlin, manualSync: true}]
`

func TestAppProjectsAreRead(t *testing.T) {
	p := Projects{}.Project(given.Object(t, projectText))
	if len(p.Problems) > 0 {
		t.Fatal(p.Problems)
	}
	in := project.Destination{Server: inClusterServer, Name: inCluster, Namespace: "shop"}
	m := project.Member{Project: "team", Namespace: "argocd", Name: "web", Repositories: []string{"https://git.example/shop/web.git"}, Destination: in}
	for what, why := range map[string]string{
		"the app":      p.Refusal(m),
		"a Deployment": p.RefusalOf(object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, in),
		"a Namespace":  p.RefusalOf(object.ID{Kind: "Namespace", Name: "shop-a"}, in),
	} {
		if why != "" {
			t.Errorf("%s: %s", what, why)
		}
	}
	for what, id := range map[string]object.ID{
		"a quota":           {Kind: "ResourceQuota", Namespace: "shop", Name: "a"},
		"another namespace": {Kind: "Namespace", Name: "bank"},
		"a ClusterRole":     {Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "a"},
	} {
		if p.RefusalOf(id, in) == "" {
			t.Errorf("%s is permitted", what)
		}
	}
	if namespace, name := p.AccountFor(m); namespace != "tools" || name != "deployer" {
		t.Errorf("account %s/%s", namespace, name)
	}
	if w := p.WindowsFor(m, time.Date(2026, 7, 1, 20, 30, 0, 0, time.UTC)); w.Automated || !w.Manual {
		t.Errorf("%+v", w)
	}
}

func TestWhatOfAnAppProjectCannotBeFollowed(t *testing.T) {
	for spec, want := range map[string]string{
		`{signatureKeys: [{keyID: A}]}`: "spec.signatureKeys: not supported yet",
		`{sourceIntegrity: {git: {}}}`:  "spec.sourceIntegrity: not supported yet",
		`{sourceRepos: all}`:            "spec.sourceRepos: ",
		`{syncWindows: [{kind: stop, schedule: "* * * * *", duration: 1h, applications: ["*"]}]}`:                      "spec.syncWindows[0].kind: ",
		`{syncWindows: [{kind: deny, schedule: often, duration: 1h, applications: ["*"]}]}`:                            "spec.syncWindows[0].schedule: ",
		`{syncWindows: [{kind: deny, schedule: "* * * * *", duration: long}]}`:                                         "spec.syncWindows[0].duration: ",
		`{syncWindows: [{kind: deny, schedule: "* * * * *", duration: 1h, timeZone: Nowhere}]}`:                        "spec.syncWindows[0].timeZone: ",
		`{destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: ""}]}`:                     "spec.destinationServiceAccounts[0].defaultServiceAccount: ",
		`{destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: " "}]}`:                    "spec.destinationServiceAccounts[0].defaultServiceAccount: ",
		`{destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: "tools:"}]}`:               "spec.destinationServiceAccounts[0].defaultServiceAccount: ",
		`{destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: ":deployer"}]}`:            "spec.destinationServiceAccounts[0].defaultServiceAccount: ",
		`{destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: "a:b:c"}]}`:                "spec.destinationServiceAccounts[0].defaultServiceAccount: ",
		`{destinationServiceAccounts: [{server: "*", namespace: "*", defaultServiceAccount: "dep*"}]}`:                 "spec.destinationServiceAccounts[0].defaultServiceAccount: ",
		`{destinationServiceAccounts: [{server: "{https://a", namespace: "*", defaultServiceAccount: deployer}]}`:      "spec.destinationServiceAccounts[0].server: ",
		`{destinationServiceAccounts: [{server: "*", namespace: "shop-[a", defaultServiceAccount: "tools:deployer"}]}`: "spec.destinationServiceAccounts[0].namespace: ",
		`[]`: "spec: ",
	} {
		t.Run(spec, func(t *testing.T) {
			p := Projects{}.Project(given.Object(t, "metadata: {name: team, namespace: argocd}\nspec: "+spec))
			if got := strings.Join(p.Problems, "\n"); !strings.Contains(got, want) {
				t.Errorf("%q", got)
			}
			m := project.Member{Project: "team", Namespace: "argocd", Name: "web"}
			if why := p.Refusal(m); !strings.Contains(why, "permits nothing") {
				t.Errorf("it refuses with %q", why)
			}
			if w := p.WindowsFor(m, time.Now()); w.Automated || w.Manual {
				t.Errorf("syncs may be: %+v", w)
			}
			if p.RefusalOf(object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, project.Destination{}) == "" {
				t.Error("an object is permitted")
			}
		})
	}
	if p := (Projects{}).Project(given.Object(t, "spec: {signatureKeys: [], clusterResourceWhitelist: []}")); len(p.Problems) > 0 {
		t.Errorf("empty lists: %q", p.Problems)
	}
}

func FuzzAppProjectNeverPanics(f *testing.F) {
	f.Add([]byte(projectText))
	f.Fuzz(func(_ *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil || cr == nil {
			return
		}
		p := Projects{}.Project(cr)
		m := project.Member{Project: p.Name, Namespace: p.Namespace, Name: "web", Repositories: []string{"https://git.example/a"}}
		p.Refusal(m)
		p.AccountFor(m)
		p.WindowsFor(m, time.Unix(1_800_000_000, 0))
		p.RefusalOf(object.ID{Kind: "Namespace", Name: "a"}, project.Destination{})
	})
}

// TestTheBuildEnvironmentNamesTheProject, which is the default one where the Application names none.
func TestTheBuildEnvironmentNamesTheProject(t *testing.T) {
	for field, want := range map[string]string{"project: team": "team", "project: ''": "default", "revisionHistoryLimit: 5": "default"} {
		a := Applications{}.App(given.Object(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  `+field+`
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  source:
    repoURL: https://git.example/shop.git
    path: web
    kustomize: {commonLabels: {project: $ARGOCD_APP_PROJECT_NAME}}
`), policy.Policy{})
		if got := a.Overlay.Labels.Pairs["project"]; got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
