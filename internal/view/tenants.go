package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/apply/impersonate"
	"github.com/truce-gitops/truce/internal/apply/remote"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// app is an app as the controller reads it: with its policies, in the cluster that it names, and bound by its project and the rules for tenants.
func (c *Cluster) app(ctx context.Context, how controllerSettings, translate dialect.Apps, cr object.Object) app.App {
	read := translate.App(cr, how.policy)
	a := how.bind(read)
	if !a.Kubeconfig.IsNamed() {
		return a
	}
	found, err := remote.LocateCluster(ctx, c.cluster, c.clusters.Clouds(), a)
	if err = cmp.Or(found.Refused, err); err != nil {
		return a.RefuseCluster(redact.MaskText(err.Error()))
	}
	return how.bind(read.InCluster(found.Cluster))
}

func (p *controllerSettings) bind(a app.App) app.App {
	a = a.InProject(p.tenancy.ProjectsFor(a.Key.Namespace, p.projects))
	if a.Member.Project != "" {
		a = a.Ignoring(argocd.Projects{}.Ignored(p.settings[a.ArgoNamespace()]))
	}
	return p.tenancy.Bind(a)
}

// refusal is why the controller does not run an app at all because of another namespace; nil for one that it runs.
func refusal(a app.App) error {
	for _, p := range a.Problems {
		if p.Denied {
			return errors.New(p.String())
		}
	}
	return nil
}

// rightsOf returns what the service account of an app may do, as far as the user of the command may ask for that; nil where the user's own rights are
// all that is known, which is noted.
func (c *Cluster) rightsOf(ctx context.Context, how *controllerSettings, a app.App) tenancy.Rights {
	if a.Account.IsSelf() || refusal(a) != nil {
		return nil
	}
	rights, why := c.accountRights(ctx, a.Account)
	if rights == nil {
		how.notes = append(how.notes, fmt.Sprintf("the controller writes as %s, whose rights are not known: %s; your own are taken", a.Account.User(), why))
	}
	return rights
}

// accountRights are the rights of an account, or why they are not known.
func (c *Cluster) accountRights(ctx context.Context, account identity.Account) (rights tenancy.Rights, why string) {
	rights, may, err := impersonate.RightsOf(ctx, c.objectClient(), account)
	switch {
	case err != nil:
		return nil, redact.MaskText(err.Error())
	case !may:
		return nil, "you may not ask for them (create subjectaccessreviews)"
	}
	return rights, ""
}
