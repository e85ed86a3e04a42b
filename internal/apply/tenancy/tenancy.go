// Package tenancy answers: what may an app do where tenants share a cluster, and as whom is that asked of the API server?
//
// In: an app as its dialect reads it; the controller's flags (Rules).
// Out: the app with its account, its reach, and a Problem for each reference that the rules forbid; for an account, the Access that every
// request about the app's objects goes through.
// Promise: the zero Rules change nothing; an app that the rules refuse names no source of another namespace any more; a write outside of an
// app's reach is never sent.
// Not here: impersonation itself (cluster), what the API server allows the account (RBAC).
package tenancy

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
)

// Rules are what a controller's flags demand of each app. The zero value demands nothing.
type Rules struct {
	References References
	// Account is the service account of an app that names none, in the app's own namespace; empty for truce's own identity.
	Account string
	// TokenAccount is the service account, in the app's own namespace, whose tokens an app is connected to another cluster by where its ConfigMap names
	// none; empty for truce's own.
	TokenAccount string
	Sharing      Sharing
	// Admins are the namespaces whose apps are the administrators': under Shared, Account and Reaches do not hold for them.
	Admins []string
	// Reaches says by the kind of app how far the apps of tenants reach under Shared. A kind that is not in it reaches its own namespace.
	Reaches map[string]identity.NamespaceReach
}

// References says which custom resources an app may refer to.
type References string

// Sharing says whether tenants share the cluster.
type Sharing string

// The values of References and Sharing.
const (
	AnyNamespace  References = ""               // --no-cross-namespace-refs is not set
	SameNamespace References = "same namespace" // --no-cross-namespace-refs

	Single Sharing = ""
	Shared Sharing = "shared" // --multi-tenant
)

// IdentityAccount is the service account whose identity at a cloud a source of a namespace has that names none; empty for the controller's own
// identity. As in Flux's multi-tenancy lockdown, it is the account of --default-service-account.
func (r Rules) IdentityAccount(namespace string) string {
	if r.Sharing == Shared && slices.Contains(r.Admins, namespace) {
		return ""
	}
	return r.Account
}

// Bind applies the rules to an app: as whom it works, how far it reaches, and what it is refused.
func (r Rules) Bind(a app.App) app.App {
	tenant := r.Sharing == Shared && !slices.Contains(r.Admins, a.Key.Namespace)
	bound := tenant || r.Sharing == Single
	if a.Account.IsSelf() && r.Account != "" && bound {
		a.Account = identity.Account{Namespace: a.Key.Namespace, Name: r.Account}
	}
	if a.Kubeconfig.ConfigMap != "" && bound {
		a.Kubeconfig.Account = r.TokenAccount
	}
	if tenant {
		a.Reach = identity.Own
		if reach, known := r.Reaches[a.Key.Kind]; known {
			a.Reach = reach
		}
	}
	if bound {
		a = r.withoutForeignAccount(a)
	}
	if a.Deleting { // what an app does not refer to any more, it need not be refused
		return a
	}
	a.Problems = append(slices.Clip(a.Problems), reachProblems(a)...)
	a.SyncRequest.Refused = cmp.Or(a.SyncRequest.Refused, requestRefusal(a))
	if n := a.Source.Namespace; r.References == SameNamespace && n != "" && n != a.Key.Namespace {
		a.Problems = append(a.Problems, app.Problem{Denied: true, Reason: crossNamespaceMessage(a.Source.Kind, n, a.Source.Name)})
		a.Source = app.SourceKey{} // nothing is asked of it for this app, not even whether it is there
	}
	if r.References == SameNamespace {
		a = withoutForeignDependencies(a)
	}
	return a
}

// ProjectsFor are the projects that may bound an app of a namespace. Where tenants share the cluster, those that another tenant has are none of them: it could
// admit the app, name an account for it, and send its objects to a cluster.
func (r Rules) ProjectsFor(namespace string, known project.Known) project.Known {
	if r.Sharing != Shared {
		return known
	}
	return known.In(append([]string{namespace, project.ArgoNamespace}, r.Admins...))
}

// isOfAdministrators reports whether a project is in a namespace that tenants do not write to.
func (r Rules) isOfAdministrators(p project.Project) bool {
	return p.Namespace == project.ArgoNamespace || slices.Contains(r.Admins, p.Namespace)
}

// withoutForeignAccount refuses an app that works as an account of another namespace since a project that is not the administrators' names it: who may write
// that project may not be one who may act as the account. What the app has made goes as an account of its own namespace.
func (r Rules) withoutForeignAccount(a app.App) app.App {
	if r.Sharing == Single && r.Account == "" { // no app is bound to an account
		return a
	}
	if a.Project == nil || r.isOfAdministrators(*a.Project) && a.Project.Namespace != a.Key.Namespace || a.Account.IsSelf() || a.Account.Namespace == a.Key.Namespace {
		return a
	}
	a.Problems = append(slices.Clip(a.Problems), app.Problem{Field: "spec.project", Denied: true, Reason: fmt.Sprintf(
		"AppProject %s of namespace %s names %s, and an account of another namespace is named by a project of the administrators alone", a.Project.Name, a.Project.Namespace, a.Account.User())})
	a.Account = identity.Account{Namespace: a.Key.Namespace, Name: cmp.Or(r.Account, "default")}
	return a
}

// withoutForeignDependencies refuses an app that depends on one of another namespace, of which nothing is asked for it.
func withoutForeignDependencies(a app.App) app.App {
	var own []dependency.Dependency
	for _, d := range a.DependsOn {
		if d.On.Namespace == a.Key.Namespace {
			own = append(own, d)
			continue
		}
		a.Problems = append(a.Problems, app.Problem{Denied: true, Reason: crossNamespaceMessage(d.On.Kind, d.On.Namespace, d.On.Name)})
	}
	a.DependsOn = own
	return a
}

// crossNamespaceMessage is Flux's message (fluxcd/pkg/runtime/acl, kustomize-controller).
func crossNamespaceMessage(kind, namespace, name string) string {
	return fmt.Sprintf("can't access '%s/%s/%s', cross-namespace references have been blocked", kind, namespace, name)
}

// requestRefusal is why the app may not have what its request asks for; empty for no reason.
func requestRefusal(a app.App) string {
	if a.SyncRequest.MakeNamespace && !a.Reach.Covers(a.Key.Namespace, "") {
		return noNamespaces
	}
	return ""
}

const noNamespaces = "can't create namespaces: cluster-scoped objects are the administrators' (--multi-tenant)"

// reachProblems refuses an app as a whole that sends its objects to a namespace which it may not write to.
func reachProblems(a app.App) []app.Problem {
	for _, to := range []string{a.Namespace, a.DefaultNamespace.Name} {
		if to != "" && !a.Reach.Covers(a.Key.Namespace, to) {
			return []app.Problem{{Denied: true, Reason: fmt.Sprintf(
				"can't deploy to namespace %s: %s is not in a namespace of the administrators, and may only deploy to its own", to, a.Key)}}
		}
	}
	if a.DefaultNamespace.Make && !a.Reach.Covers(a.Key.Namespace, "") {
		return []app.Problem{{Denied: true, Reason: noNamespaces}}
	}
	return nil
}

// Refusal says why an object is out of an app's reach, or not permitted by its project; empty for one that the app may have.
func Refusal(a app.App, id object.ID) string {
	switch {
	case a.Reach.Covers(a.Key.Namespace, id.Namespace):
		return a.ProjectRefusal(id)
	case id.Namespace == "":
		return "cluster-scoped objects are the administrators' (--multi-tenant): not applied"
	}
	return fmt.Sprintf("namespace %s is out of reach: %s may only deploy to its own namespace (--multi-tenant): not applied", id.Namespace, a.Key)
}

// Access is the cluster as one identity reads and writes it.
type Access struct {
	Live   live.Reader
	Writer apply.Writer
	Rights Rights
}

// Rights reports what an identity may do. It asks the API server and may block.
type Rights interface {
	// Refused says that the identity may not do something (patch, create, delete) with the object; empty where it may.
	Refused(ctx context.Context, verb string, gvk object.GVK, id object.ID) (string, error)
}

// Identities give the Access of an account. An account that they cannot act as is an error: truce's own identity never stands in for it.
type Identities interface {
	As(account identity.Account) (Access, error)
}

// AccessOf returns how an app sees the cluster: as its account, and without a write outside of its reach, of what its project permits and of the namespaces
// that its cluster's Secret lists.
func AccessOf(all Identities, a app.App) (Access, error) {
	access, err := all.As(a.Account)
	if err != nil {
		return Access{}, err
	}
	if a.Reach != identity.All || a.Project != nil || len(a.Member.Cluster.Namespaces) > 0 {
		access.Writer = reachLimitedWriter{app: a, next: access.Writer}
	}
	return access, nil
}

// reachLimitedWriter is a Writer that refuses what is out of its app's reach: also what a record names, which a tenant may have forged.
type reachLimitedWriter struct {
	app  app.App
	next apply.Writer
}

// Apply implements apply.Writer.
func (w reachLimitedWriter) Apply(ctx context.Context, a apply.Apply) (object.Object, error) {
	if err := w.refuse(a.ID); err != nil {
		return nil, err
	}
	return w.next.Apply(ctx, a)
}

// Edit implements apply.Writer.
func (w reachLimitedWriter) Edit(ctx context.Context, e apply.Edit) (object.Object, error) {
	if err := w.refuse(e.ID); err != nil {
		return nil, err
	}
	return w.next.Edit(ctx, e)
}

// Delete implements apply.Writer.
func (w reachLimitedWriter) Delete(ctx context.Context, t apply.Target) error {
	if err := w.refuse(t.ID); err != nil {
		return err
	}
	return w.next.Delete(ctx, t)
}

func (w reachLimitedWriter) refuse(id object.ID) error {
	if why := Refusal(w.app, id); why != "" {
		return fmt.Errorf("write %s: %s", id, why)
	}
	return nil
}
