package project_test

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
)

var here = project.Destination{Server: "https://kubernetes.default.svc", Name: "in-cluster", Namespace: "shop"}

func member(repositories ...string) project.Member {
	return project.Member{Project: "team", Namespace: "argocd", Name: "web", Repositories: repositories, Destination: here}
}

func TestRepositoriesOfAProject(t *testing.T) {
	for name, c := range map[string]struct {
		patterns []string
		address  string
		permits  bool
	}{
		"all":                             {[]string{"*"}, "https://git.example/shop/web.git", true},
		"none":                            {nil, "https://git.example/shop/web.git", false},
		"the same, written otherwise":     {[]string{"https://Git.example/shop/web"}, "https://git.example/shop/web.git", true},
		"with a user":                     {[]string{"https://git.example/shop/web"}, "https://user:word@git.example/shop/web.git", true},
		"the short form of SSH":           {[]string{"ssh://git.example/shop/web"}, "git@git.example:shop/web.git", true},
		"one star stays in its directory": {[]string{"https://git.example/*"}, "https://git.example/shop/web", false},
		"a directory":                     {[]string{"https://git.example/shop/*"}, "https://git.example/shop/web", true},
		"two stars go below":              {[]string{"https://git.example/**"}, "https://git.example/shop/web", true},
		"a denial alone permits the rest": {[]string{"!https://git.example/bad/*"}, "https://git.example/shop/web", true},
		"a denial":                        {[]string{"*", "!https://git.example/shop/*"}, "https://git.example/shop/web", false},
		"a part of the name":              {[]string{"https://git.example/shop"}, "https://git.example/shop-evil", false},
		"a broken pattern":                {[]string{"https://git.example/{shop"}, "https://git.example/shop", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := project.Project{Name: "team", Namespace: "argocd", Repositories: c.patterns, Destinations: []project.Destination{{Server: "*", Namespace: "*"}}}
			why := p.Refusal(member(c.address))
			if (why == "") != c.permits {
				t.Errorf("refused: %q", why)
			}
			if strings.Contains(why, "word") {
				t.Errorf("a credential is shown: %s", why)
			}
		})
	}
}

func TestDestinationsOfAProject(t *testing.T) {
	for name, c := range map[string]struct {
		entries []project.Destination
		permits bool
	}{
		"none":                               {nil, false},
		"by server":                          {[]project.Destination{{Server: here.Server, Namespace: "shop"}}, true},
		"by name":                            {[]project.Destination{{Name: "in-cluster", Namespace: "shop"}}, true},
		"another namespace":                  {[]project.Destination{{Server: here.Server, Namespace: "bank"}}, false},
		"another cluster":                    {[]project.Destination{{Server: "https://10.0.0.1", Namespace: "*"}}, false},
		"a pattern":                          {[]project.Destination{{Server: "*", Namespace: "sh*"}}, true},
		"a namespace that is denied":         {[]project.Destination{{Server: "*", Namespace: "*"}, {Server: here.Server, Namespace: "!shop"}}, false},
		"another that is denied":             {[]project.Destination{{Server: "*", Namespace: "!kube-system"}}, true},
		"denied in another cluster":          {[]project.Destination{{Server: "*", Namespace: "*"}, {Server: "https://10.0.0.1", Namespace: "!shop"}}, true},
		"a cluster that is denied":           {[]project.Destination{{Server: "*", Namespace: "*"}, {Server: "!" + here.Server, Namespace: "*"}}, false},
		"a cluster that is denied elsewhere": {[]project.Destination{{Server: "*", Namespace: "*"}, {Server: "!" + here.Server, Namespace: "bank"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := project.Project{Name: "team", Namespace: "argocd", Repositories: []string{"*"}, Destinations: c.entries}
			if why := p.Refusal(member("https://git.example/a")); (why == "") != c.permits {
				t.Errorf("refused: %q", why)
			}
		})
	}
}

func TestTheAccountOfAnApp(t *testing.T) {
	account := func(server, namespace, name string) project.Account {
		return project.Account{Where: project.Destination{Server: server, Namespace: namespace}, Name: name}
	}
	nowhere := here
	nowhere.Namespace = ""
	of := account("*", "*", "deployer")
	of.Namespace = "tools"
	for name, c := range map[string]struct {
		accounts []project.Account
		to       project.Destination
		want     string // namespace/name
	}{
		"none":                                 {nil, here, "/"},
		"in the destination's namespace":       {[]project.Account{account("*", "*", "deployer")}, here, "shop/deployer"},
		"in its own namespace":                 {[]project.Account{of}, here, "tools/deployer"},
		"in the app's, where none is named":    {[]project.Account{account("*", "*", "deployer")}, nowhere, "argocd/deployer"},
		"an entry without a namespace":         {[]project.Account{account("*", "", "deployer")}, nowhere, "argocd/deployer"},
		"it matches no app that names one":     {[]project.Account{account("*", "", "deployer")}, here, "/"},
		"the first that matches":               {[]project.Account{account("*", "bank", "a"), account(here.Server, "sh*", "b"), account("*", "*", "c")}, here, "shop/b"},
		"the address goes before the name":     {[]project.Account{account("in-cluster", "*", "a"), account(here.Server, "*", "b")}, here, "shop/b"},
		"the name, where no address matches":   {[]project.Account{account("https://10.0.0.1", "*", "a"), account("in-cluster", "*", "b")}, here, "shop/b"},
		"the cluster is not known":             {[]project.Account{of}, project.Destination{Namespace: "shop"}, "/"},
		"a cluster of which nothing is listed": {[]project.Account{account("https://10.0.0.1", "*", "a")}, here, "/"},
	} {
		t.Run(name, func(t *testing.T) {
			m := member()
			m.Destination = c.to
			namespace, account := project.Project{Accounts: c.accounts}.AccountFor(m)
			if got := namespace + "/" + account; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestKindsOfAProject(t *testing.T) {
	all := []project.Kind{{Group: "*", Kind: "*"}}
	deployment := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	namespace := object.ID{Kind: "Namespace", Name: "shop-a"}
	for name, c := range map[string]struct {
		p       project.Project
		id      object.ID
		permits bool
	}{
		"namespaced kinds by default":             {project.Project{Namespaced: project.Kinds{AllowsAll: true}}, deployment, true},
		"an empty list":                           {project.Project{}, deployment, false},
		"a list that has it":                      {project.Project{Namespaced: project.Kinds{Allowed: []project.Kind{{Group: "apps", Kind: "Deploy*"}}}}, deployment, true},
		"a list that has another group":           {project.Project{Namespaced: project.Kinds{Allowed: []project.Kind{{Kind: "Deployment"}}}}, deployment, false},
		"a denial goes before":                    {project.Project{Namespaced: project.Kinds{AllowsAll: true, Denied: []project.Kind{{Group: "*", Kind: "Deployment"}}}}, deployment, false},
		"kinds of the cluster by default":         {project.Project{Namespaced: project.Kinds{AllowsAll: true}}, namespace, false},
		"kinds of the cluster":                    {project.Project{Cluster: project.Kinds{Allowed: all}}, namespace, true},
		"by name":                                 {project.Project{Cluster: project.Kinds{Allowed: []project.Kind{{Kind: "Namespace", Name: "shop-*"}}}}, namespace, true},
		"by another name":                         {project.Project{Cluster: project.Kinds{Allowed: []project.Kind{{Kind: "Namespace", Name: "bank-*"}}}}, namespace, false},
		"a namespace that is no destination":      {project.Project{Namespaced: project.Kinds{AllowsAll: true}, Destinations: []project.Destination{{Server: "*", Namespace: "bank"}}}, deployment, false},
		"denied by name, and others are let in":   {project.Project{Cluster: project.Kinds{Allowed: all, Denied: []project.Kind{{Kind: "Namespace", Name: "kube-*"}}}}, namespace, true},
		"denied by name, and this one is of them": {project.Project{Cluster: project.Kinds{Allowed: all, Denied: []project.Kind{{Kind: "Namespace", Name: "shop-*"}}}}, namespace, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.p.Name = "team"
			if c.p.Destinations == nil {
				c.p.Destinations = []project.Destination{{Server: "*", Namespace: "*"}}
			}
			if why := c.p.RefusalOf(c.id, here); (why == "") != c.permits {
				t.Errorf("refused: %q", why)
			}
		})
	}
}

func TestWhichProjectBoundsAnApp(t *testing.T) {
	for name, c := range map[string]struct {
		m    project.Member
		all  []project.Project
		want string // the namespace of the project; empty for none
		why  string
	}{
		"in its namespace":           {project.Member{Project: "team", Namespace: "argocd"}, []project.Project{{Namespace: "argocd", Name: "team"}}, "argocd", ""},
		"elsewhere, and admitted":    {project.Member{Project: "team", Namespace: "shop"}, []project.Project{{Namespace: "argocd", Name: "team", AppNamespaces: []string{"sh*"}}}, "argocd", ""},
		"admitted by an expression":  {project.Member{Project: "team", Namespace: "shop"}, []project.Project{{Namespace: "argocd", Name: "team", AppNamespaces: []string{"/^sh.p$/"}}}, "argocd", ""},
		"elsewhere, and not":         {project.Member{Project: "team", Namespace: "shop"}, []project.Project{{Namespace: "argocd", Name: "team"}}, "", "not permitted to use project 'team' of namespace argocd"},
		"nowhere":                    {project.Member{Project: "team", Namespace: "shop"}, nil, "", "does not exist"},
		"the default project is not": {project.Member{Project: "default", Namespace: "shop"}, nil, "", ""},
		"two admit it": {project.Member{Project: "team", Namespace: "shop"}, []project.Project{
			{Namespace: "b", Name: "team", AppNamespaces: []string{"*"}}, {Namespace: "a", Name: "team", AppNamespaces: []string{"*"}},
		}, "", "several namespaces that admit applications of namespace shop: a, b"},
	} {
		t.Run(name, func(t *testing.T) {
			p, why := project.Known{All: c.all}.ForMember(c.m)
			got := ""
			if p != nil {
				got = p.Namespace
			}
			if got != c.want || (c.why == "") != (why == "") || !strings.Contains(why, c.why) {
				t.Errorf("project of %q, refused: %q", got, why)
			}
		})
	}
}

func TestWindowsOfAProject(t *testing.T) {
	night := window(t, "0 22 * * *", 8*time.Hour)
	noon := window(t, "0 12 * * *", time.Hour)
	allow, manual, others := night, noon, noon
	allow.Allows = true
	manual.Manual = true
	others.Apps = []string{"api-*"}
	both := noon
	both.Namespaces, both.Every = []string{"bank"}, true
	berlin := noon
	berlin.Zone, _ = time.LoadLocation("Europe/Berlin")
	at := func(hour int) time.Time { return time.Date(2026, 1, 15, hour, 30, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		windows           []project.Window
		at                time.Time
		automated, manual bool
		next              int // the hour
	}{
		"denied":                            {[]project.Window{noon}, at(12), false, false, 13},
		"not yet denied":                    {[]project.Window{noon}, at(9), true, true, 12},
		"denied, but not to people":         {[]project.Window{manual}, at(12), false, true, 13},
		"one of two denies people":          {[]project.Window{manual, noon}, at(12), false, false, 13},
		"allowed":                           {[]project.Window{allow}, at(23), true, true, 6},
		"allowed after midnight":            {[]project.Window{allow}, at(3), true, true, 6},
		"not allowed":                       {[]project.Window{allow}, at(9), false, false, 22},
		"a denial goes before an allowance": {[]project.Window{allow, window(t, "0 23 * * *", time.Hour)}, at(23), false, false, 0},
		"about others":                      {[]project.Window{others}, at(12), true, true, 24},
		"about this app, and not its place": {[]project.Window{both}, at(12), true, true, 24},
		"in another zone":                   {[]project.Window{berlin}, at(11), false, false, 12},
	} {
		t.Run(name, func(t *testing.T) {
			got := project.Project{Name: "team", Windows: c.windows}.WindowsFor(member(), c.at)
			if got.Automated != c.automated || got.Manual != c.manual || (got.Why == "") != c.automated {
				t.Errorf("%+v", got)
			}
			if c.next == 24 && !got.Next.IsZero() || c.next < 24 && got.Next.UTC().Hour() != c.next {
				t.Errorf("next at %s, want %d h", got.Next, c.next)
			}
		})
	}
}

func window(t *testing.T, schedule string, d time.Duration) project.Window {
	t.Helper()
	starts, err := project.ParseSchedule(schedule)
	if err != nil {
		t.Fatal(err)
	}
	return project.Window{Schedule: schedule, Duration: d, Starts: starts, Apps: []string{"*"}}
}

// FuzzRepositories: no pattern and no address make a project panic, and a denial of an address permits it by no other pattern.
func FuzzRepositories(f *testing.F) {
	f.Add("https://git.example/*", "https://git.example/a.git")
	f.Add("!*", "git@host:a/b")
	f.Fuzz(func(t *testing.T, pattern, address string) {
		p := project.Project{Name: "team", Repositories: []string{"*", "!" + address}, Destinations: []project.Destination{{Server: "*", Namespace: "*"}}}
		p.Refusal(member(address))
		p.Repositories = []string{pattern}
		p.Refusal(member(address))
	})
}
