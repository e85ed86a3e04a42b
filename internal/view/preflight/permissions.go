package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorization "k8s.io/api/authorization/v1"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/permissions"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// toInstall is what an installation writes.
var toInstall = []permissions.Rule{
	{Resources: []string{"namespaces", "serviceaccounts", "services"}, Verbs: []string{"create"}, For: "install truce"},
	{Group: "apps", Resources: []string{"deployments"}, Verbs: []string{"create"}, For: "install truce"},
	{Group: "rbac.authorization.k8s.io", Resources: []string{"clusterroles"}, Verbs: []string{"create", "escalate"}, For: "install truce's roles"},
	{Group: "rbac.authorization.k8s.io", Resources: []string{"clusterrolebindings"}, Verbs: []string{"create"}, For: "install truce's roles"},
	{Group: "apiextensions.k8s.io", Resources: []string{"customresourcedefinitions"}, Verbs: []string{"create", "patch"}, For: "install the kinds that truce reads", Without: "another account must install them"},
}

// permissions asks for those of the controller's account; before an installation, for those of the user who installs.
func (x *inspection) permissions(ctx context.Context) error {
	if x.facts.Installed == nil {
		return x.ask(ctx, toInstall, selfReview{x.cluster})
	}
	ns, name, _ := strings.Cut(x.facts.Installed.Account, "/")
	account := identity.Account{Namespace: ns, Name: name}
	review := accountReview{x.cluster, account.User(), account.Groups()}
	own, _, _ := strings.Cut(x.facts.Installed.Deployment, "/")
	rules := slices.Concat(permissions.ControllerRules(), permissions.StatusRules(x.home(own)), permissions.ClaimantRules(claim.Builtin().Kinds()))
	every := permissions.ApplyRules()
	if x.facts.Installed.Observes {
		rules, every = permissions.ObserverRules(), permissions.Observe()
	}
	if err := x.ask(ctx, rules, review); err != nil {
		return err
	}
	for _, r := range permissions.NamespaceRules() {
		if err := x.askRule(ctx, r, x.home(own), review); err != nil {
			return err
		}
	}
	if err := x.impersonation(ctx, review); err != nil {
		return err
	}
	asked := len(x.facts.Permissions)
	if err := x.ask(ctx, every, review); err != nil {
		return err
	}
	for i := range x.facts.Permissions[asked:] {
		x.facts.Permissions[asked+i].Replaceable = true
	}
	return nil
}

// impersonation asks for the right to act as service accounts where it is used: by a flag, which makes it necessary, or by an app that names one.
func (x *inspection) impersonation(ctx context.Context, who reviewer) error {
	rules := permissions.Impersonate()
	if flag := x.facts.Installed.Tenants; flag != "" {
		for i := range rules {
			rules[i].For, rules[i].Without = rules[i].For+", because of "+flag, ""
		}
		return x.ask(ctx, rules, who)
	}
	for gvk, f := range registry.AppDialects() {
		for _, ns := range x.namespaces.Each() {
			found, err := x.live.List(ctx, live.Interest{GVK: gvk, Depth: live.Full, Namespace: ns})
			if err != nil && !errors.Is(err, live.ErrUnknownKind) {
				return err
			}
			if slices.ContainsFunc(found, func(cr object.Object) bool { return usesAccount(f.App(cr, policy.Policy{})) }) {
				return x.ask(ctx, rules, who)
			}
		}
	}
	return nil
}

// usesAccount reports whether a controller acts as a service account for an app, or connects with its tokens.
func usesAccount(a app.App) bool { return !a.Account.IsSelf() || a.Kubeconfig.ConfigMap != "" }

// reviewer asks the API server whether a request would be allowed.
type reviewer interface {
	allows(ctx context.Context, a *authorization.ResourceAttributes) (bool, error)
}

type selfReview struct{ client *cluster.Client }

func (r selfReview) allows(ctx context.Context, a *authorization.ResourceAttributes) (bool, error) {
	var status authorization.SubjectAccessReviewStatus
	err := r.client.Review(ctx, authorization.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), &authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: a}, &status)
	return status.Allowed, err
}

type accountReview struct {
	client *cluster.Client
	user   string
	groups []string
}

func (r accountReview) allows(ctx context.Context, a *authorization.ResourceAttributes) (bool, error) {
	var status authorization.SubjectAccessReviewStatus
	spec := &authorization.SubjectAccessReviewSpec{User: r.user, Groups: r.groups, ResourceAttributes: a}
	err := r.client.Review(ctx, authorization.SchemeGroupVersion.WithKind("SubjectAccessReview"), spec, &status)
	return status.Allowed, err
}

// ask asks for each verb of each resource, in each namespace that the controller works for.
func (x *inspection) ask(ctx context.Context, rules []permissions.Rule, who reviewer) error {
	for _, r := range rules {
		if r.ClusterOnly && x.namespaces.Limited() {
			continue
		}
		for _, ns := range x.namespaces.Each() {
			if err := x.askRule(ctx, r, ns, who); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *inspection) askRule(ctx context.Context, r permissions.Rule, namespace string, who reviewer) error {
	for _, resource := range r.Resources {
		name, sub, _ := strings.Cut(resource, "/")
		for _, verb := range r.Verbs {
			what := authorization.ResourceAttributes{Namespace: namespace, Verb: verb, Group: r.Group, Resource: name, Subresource: sub}
			if len(r.Names) > 0 {
				what.Name = r.Names[0]
			}
			allowed, err := who.allows(ctx, &what)
			if err != nil {
				return fmt.Errorf("ask for permission to %s %s: %w", verb, resource, err)
			}
			shown := resource
			if r.Group != "" && r.Group != "*" {
				shown += "." + r.Group
			}
			x.facts.Permissions = append(x.facts.Permissions, Permission{Rule: r, Verb: verb, Resource: shown, Namespace: namespace, Allowed: allowed})
		}
	}
	return nil
}
