package tenancy

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/project"
)

var multiTenant = Rules{
	References: SameNamespace, Account: "default", Sharing: Shared, Admins: []string{"truce-system"},
	Reaches: map[string]identity.NamespaceReach{"Kustomization": identity.Namespaced},
}

// TestAProjectOfAnotherTenantBoundsNothing: it would admit the app, name an account for it, and send its objects to a cluster.
func TestAProjectOfAnotherTenantBoundsNothing(t *testing.T) {
	all := project.Known{State: project.Listed, All: []project.Project{{Name: "p", Namespace: "a"}, {Name: "p", Namespace: "b"}, {Name: "p", Namespace: "argocd"}, {Name: "p", Namespace: "truce-system"}}}
	namespaces := func(k project.Known) (out []string) {
		for _, p := range k.All {
			out = append(out, p.Namespace)
		}
		return out
	}
	if diff := cmp.Diff([]string{"a", "argocd", "truce-system"}, namespaces(multiTenant.ProjectsFor("a", all))); diff != "" {
		t.Errorf("where tenants share the cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(namespaces(all), namespaces(Rules{Account: "d", Sharing: Single}.ProjectsFor("a", all))); diff != "" {
		t.Errorf("where they do not (-want +got):\n%s", diff)
	}
	for namespace, refused := range map[string]bool{"b": true, "argocd": false, "truce-system": false} {
		a := app.App{
			Key: app.Key{Kind: "Application", Namespace: "a", Name: "x"}, Project: &project.Project{Name: "p", Namespace: namespace},
			Account: identity.Account{Namespace: "kube-system", Name: "admin"},
		}
		if got := multiTenant.Bind(a); len(got.Problems) > 0 != refused || (got.Account == a.Account) == refused {
			t.Errorf("a project of namespace %s: as %s, problems %v", namespace, got.Account.User(), got.Problems)
		}
	}
}

func TestTheZeroRulesChangeNothing(t *testing.T) {
	a := app.App{Key: app.Key{Kind: "Kustomization", Namespace: "a", Name: "x"}, Source: app.SourceKey{Kind: "GitRepository", Namespace: "b", Name: "r"}}
	if diff := cmp.Diff(a, Rules{}.Bind(a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatAnAppOfATenantMayDo(t *testing.T) {
	type want struct {
		user, problem string
		reach         identity.NamespaceReach
	}
	kustomization := app.Key{Kind: "Kustomization", Namespace: "a", Name: "x"}
	application := app.Key{Kind: "Application", Namespace: "a", Name: "x"}
	admins := app.Key{Kind: "Application", Namespace: "truce-system", Name: "x"}
	elsewhere := app.SourceKey{Kind: "GitRepository", Namespace: "b", Name: "r"}
	named := identity.Account{Namespace: "a", Name: "deployer"}
	for name, c := range map[string]struct {
		rules Rules
		app   app.App
		want  want
	}{
		"no account":           {multiTenant, app.App{Key: kustomization}, want{user: "system:serviceaccount:a:default", reach: identity.Namespaced}},
		"a named account":      {multiTenant, app.App{Key: kustomization, Account: named}, want{user: "system:serviceaccount:a:deployer", reach: identity.Namespaced}},
		"own namespace":        {multiTenant, app.App{Key: application, DefaultNamespace: policy.DefaultNamespace{Name: "a"}}, want{user: "system:serviceaccount:a:default", reach: identity.Own}},
		"another namespace":    {multiTenant, app.App{Key: application, DefaultNamespace: policy.DefaultNamespace{Name: "b"}}, want{user: "system:serviceaccount:a:default", reach: identity.Own, problem: "can't deploy to namespace b"}},
		"makes a namespace":    {multiTenant, app.App{Key: application, DefaultNamespace: policy.DefaultNamespace{Name: "a", Make: true}}, want{user: "system:serviceaccount:a:default", reach: identity.Own, problem: "can't create namespaces"}},
		"is to make one now":   {multiTenant, app.App{Key: application, DefaultNamespace: policy.DefaultNamespace{Name: "a"}, SyncRequest: app.SyncRequest{MakeNamespace: true}}, want{user: "system:serviceaccount:a:default", reach: identity.Own, problem: "can't create namespaces"}},
		"a target namespace":   {multiTenant, app.App{Key: kustomization, Namespace: "b"}, want{user: "system:serviceaccount:a:default", reach: identity.Namespaced}},
		"administrators":       {multiTenant, app.App{Key: admins, DefaultNamespace: policy.DefaultNamespace{Name: "b", Make: true}}, want{}},
		"administrators' refs": {multiTenant, app.App{Key: admins, Source: elsewhere}, want{problem: "can't access 'GitRepository/b/r', cross-namespace references have been blocked"}},
		"references":           {multiTenant, app.App{Key: kustomization, Source: elsewhere}, want{user: "system:serviceaccount:a:default", reach: identity.Namespaced, problem: "can't access 'GitRepository/b/r', cross-namespace references have been blocked"}},
		"a dependency":         {multiTenant, app.App{Key: kustomization, DependsOn: []dependency.Dependency{{On: object.ID{Kind: "Kustomization", Namespace: "b", Name: "d"}}}}, want{user: "system:serviceaccount:a:default", reach: identity.Namespaced, problem: "can't access 'Kustomization/b/d', cross-namespace references have been blocked"}},
		"its own dependency":   {multiTenant, app.App{Key: kustomization, DependsOn: []dependency.Dependency{{On: object.ID{Kind: "Kustomization", Namespace: "a", Name: "d"}}}}, want{user: "system:serviceaccount:a:default", reach: identity.Namespaced}},
		"only references":      {Rules{References: SameNamespace}, app.App{Key: kustomization, Source: elsewhere}, want{problem: "cross-namespace"}},
		"only an account":      {Rules{Account: "d"}, app.App{Key: admins}, want{user: "system:serviceaccount:truce-system:d"}},
		"being deleted":        {multiTenant, app.App{Key: application, DefaultNamespace: policy.DefaultNamespace{Name: "b"}, Source: elsewhere, Deleting: true}, want{user: "system:serviceaccount:a:default", reach: identity.Own}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.rules.Bind(c.app)
			var problems []string
			if got.SyncRequest.Refused != "" {
				problems = append(problems, got.SyncRequest.Refused)
			}
			for _, p := range got.Problems {
				problems = append(problems, p.String())
			}
			said := strings.Join(problems, "; ")
			if got.Account.User() != c.want.user || got.Reach != c.want.reach || !strings.Contains(said, c.want.problem) || (said != "") != (c.want.problem != "") {
				t.Errorf("got %q, %q, %q; want %+v", got.Account.User(), got.Reach, said, c.want)
			}
			if n := len(got.DependsOn); strings.Contains(said, "Kustomization/b/d") && n != 0 || strings.Contains(name, "its own") && n != 1 {
				t.Errorf("the app depends on %v", got.DependsOn)
			}
			if strings.Contains(said, "cross-namespace") && got.Source != (app.SourceKey{}) {
				t.Errorf("the refused app still names %s", got.Source)
			}
		})
	}
}

// sent counts the writes that reach the server.
type sent struct{ n int }

func (s *sent) Apply(context.Context, apply.Apply) (object.Object, error) { s.n++; return nil, nil }
func (s *sent) Edit(context.Context, apply.Edit) (object.Object, error)   { s.n++; return nil, nil }
func (s *sent) Delete(context.Context, apply.Target) error                { s.n++; return nil }

// identities have one Access for all.
type identities struct{ Access }

func (i identities) As(identity.Account) (Access, error) { return i.Access, nil }

func TestNoWriteLeavesTheReach(t *testing.T) {
	for name, c := range map[string]struct {
		reach     identity.NamespaceReach
		namespace string
		let       bool
	}{
		"all, cluster-scoped":      {identity.All, "", true},
		"namespaced, another":      {identity.Namespaced, "b", true},
		"namespaced, cluster":      {identity.Namespaced, "", false},
		"own":                      {identity.Own, "a", true},
		"own, another":             {identity.Own, "b", false},
		"own, cluster":             {identity.Own, "", false},
		"a reach that none knows":  {"?", "a", false},
		"such a reach, at cluster": {"?", "", false},
	} {
		s := &sent{}
		access, err := AccessOf(identities{Access{Writer: s}}, app.App{Key: app.Key{Kind: "Application", Namespace: "a", Name: "x"}, Reach: c.reach})
		if err != nil {
			t.Fatal(err)
		}
		target := apply.Target{ID: object.ID{Kind: "X", Namespace: c.namespace, Name: "x"}}
		_, applied := access.Writer.Apply(t.Context(), apply.Apply{Target: target})
		_, edited := access.Writer.Edit(t.Context(), apply.Edit{Target: target})
		all := errors.Join(applied, edited, access.Writer.Delete(t.Context(), target))
		if (all == nil) != c.let || s.n != map[bool]int{true: 3}[c.let] {
			t.Errorf("%s: %d of 3 writes were sent: %v", name, s.n, all)
		}
	}
}

// TestNoWriteLeavesTheNamespacesOfItsCluster: those that the cluster's Secret lists bound an app without a project, too. A namespace that is created for the
// objects is an object without one.
func TestNoWriteLeavesTheNamespacesOfItsCluster(t *testing.T) {
	for name, c := range map[string]struct {
		cluster   project.Cluster
		namespace string
		let       bool
	}{
		"all namespaces":           {project.Cluster{Name: "prod"}, "", true},
		"a namespace of the list":  {project.Cluster{Name: "prod", Namespaces: []string{"shop"}}, "shop", true},
		"another namespace":        {project.Cluster{Name: "prod", Namespaces: []string{"shop"}}, "bank", false},
		"no namespace":             {project.Cluster{Name: "prod", Namespaces: []string{"shop"}}, "", false},
		"none, which is permitted": {project.Cluster{Name: "prod", Namespaces: []string{"shop"}, Global: true}, "", true},
	} {
		s := &sent{}
		a := app.App{Key: app.Key{Kind: "Application", Namespace: "argocd", Name: "x"}}.InCluster(c.cluster)
		access, err := AccessOf(identities{Access{Writer: s}}, a)
		if err != nil {
			t.Fatal(err)
		}
		target := apply.Target{ID: object.ID{Kind: "X", Namespace: c.namespace, Name: "x"}}
		_, err = access.Writer.Apply(t.Context(), apply.Apply{Target: target})
		if (err == nil) != c.let || s.n != map[bool]int{true: 1}[c.let] {
			t.Errorf("%s: %d of 1 write was sent: %v", name, s.n, err)
		}
	}
}
