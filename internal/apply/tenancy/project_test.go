package tenancy_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/project"
)

// A tenant who may write an AppProject beside an Application must not get the rights of an account elsewhere by it.
func TestAProjectOfATenantNamesNoAccountOfOthers(t *testing.T) {
	shared := tenancy.Rules{Sharing: tenancy.Shared, Account: "applier", Admins: []string{"argocd"}}
	for name, c := range map[string]struct {
		rules               tenancy.Rules
		namespace, projects string // of the app, and of its project
		account             string // its namespace
		refused             bool
	}{
		"a tenant's own account":              {shared, "shop", "shop", "shop", false},
		"an account of others":                {shared, "shop", "shop", "kube-system", true},
		"named by the administrators":         {shared, "shop", "argocd", "kube-system", false},
		"an app of the administrators":        {shared, "argocd", "argocd", "kube-system", false},
		"a default account for all":           {tenancy.Rules{Account: "applier"}, "shop", "shop", "kube-system", true},
		"a cluster that is shared by nothing": {tenancy.Rules{}, "shop", "shop", "kube-system", false},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.rules.Bind(app.App{
				Key: app.Key{Kind: "Application", Namespace: c.namespace, Name: "web"}, Project: &project.Project{Namespace: c.projects, Name: "team"},
				Account: identity.Account{Namespace: c.account, Name: "deployer"},
			})
			if (len(a.Problems) > 0) != c.refused || c.refused && a.Account.Namespace != c.namespace {
				t.Errorf("account %s, problems %v", a.Account.User(), a.Problems)
			}
		})
	}
}
