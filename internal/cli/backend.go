package cli

import (
	"context"

	"github.com/truce-gitops/truce/internal/cli/up"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/manager"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// Backend is what commands need beside the packages that they call themselves; compose puts it together. What a command does not need may
// be nil. Each method blocks until it is done or its context ends.
type Backend struct {
	Clusters
	Repositories
	Services
}

// Clusters opens clusters for the commands about apps.
type Clusters interface {
	Connect(context.Context, cluster.Target) (*Cluster, error)
}

// Repositories finds the apps of a repository, renders them, and has them used, while their files can be read.
type Repositories interface {
	Discover(ctx context.Context, q discover.Request, use func(discover.Discovery) error) error
}

// Services put controllers together.
type Services interface {
	// RunController runs the controller until ctx ends.
	RunController(context.Context, manager.Options) error
	up.Builder
}

// Cluster is what commands about apps need of one cluster: all of it is a *view.Cluster, or in a test what the test is about. Nothing in it
// writes to users' objects.
type Cluster struct {
	AppReader
	AppEditor
	Moves
	ObjectReader
	Controllers
	Resources
	Previewer
	Lineage
	Closer
	Refusals
}

// ClusterOf returns the Cluster that c answers for.
func ClusterOf(c *view.Cluster) *Cluster { return &Cluster{c, c, c, c, c, c, c, c, c, c} }

// Refusals says what a command has left out.
type Refusals interface {
	// Refused says which kinds of apps Names and Follow have left out so far, because the user may not list them.
	Refused() []string
}

// leavesOut reports whether the command has left out apps so far because the user may not list them.
func (c *Cluster) leavesOut() bool { return c.Refusals != nil && len(c.Refused()) > 0 }

// AppReader reads apps.
type AppReader interface {
	// Names lists the apps of a namespace, of all for "". It is one request for each kind of app.
	Names(ctx context.Context, namespace string) ([]app.Key, error)
	// Namespaces lists the cluster's namespaces.
	Namespaces(context.Context) ([]string, error)
	// Follow calls seen with all apps of a namespace, or with the one that the key names whole, first when all is known and then after each
	// change, until seen returns true. It returns nil then, or the context's error.
	Follow(ctx context.Context, of app.Key, seen func([]view.Summary) bool) error
	// Inspect runs all stages for one app without writing. What stopped it is in the Report.
	Inspect(context.Context, app.Key) (view.Detail, error)
	// AppState reads the status of an app's custom resource.
	AppState(context.Context, app.Key) (dialect.Summary, error)
}

// AppEditor writes custom resources of apps.
type AppEditor interface {
	// RequestRun makes the controller run the app now, and returns the token by which resource.IsAnswered knows from Summary.Handled that it has.
	RequestRun(context.Context, view.Request) (token string, err error)
	// Edit writes another form of an app's custom resources, or a new app's, or deletes them.
	Edit(context.Context, view.Edit) (view.EditResult, error)
}

// Moves are apps on their way from another controller to truce, or back.
type Moves interface {
	// Adoption returns what the adoption of an app would do. Where another controller still works on the app it is an exit.Error.
	Adoption(context.Context, app.Key) (view.Adoption, error)
	// FollowMove follows how the objects listed move to truce, or back, as the app's custom resource says, until seen returns true or all
	// have. Objects that are not in the cluster do not count.
	FollowMove(ctx context.Context, key app.Key, listed []report.ListedObject, seen func(moved, all int) bool) error
}

// ObjectReader reads what the cluster holds.
type ObjectReader interface {
	// Explain gathers what is known of one object. What could not be found out is in the Subject.
	Explain(context.Context, explain.Question) (explain.Subject, error)
	// Objects lists the names of a kind's objects in a namespace; for no kind, the names of the kinds.
	Objects(ctx context.Context, kind, namespace string) ([]string, error)
	// Claimants lists the objects of a namespace, of all for "", that claim something, by what the catalogue knows.
	Claimants(ctx context.Context, c *claim.Catalogue, namespace string) ([]claim.Claimant, error)
	// Live reads any object.
	Live() live.Reader
	// Accounts reads service accounts, and requests their tokens with the user's rights.
	Accounts() cloud.Accounts
}

// Controllers are truce's own instances in the cluster.
type Controllers interface {
	// ControllerAbsence says why it is in doubt that a controller works for a namespace; "" for a sign of life.
	ControllerAbsence(ctx context.Context, namespace string) (doubt string, err error)
	// Versions are those of the API server and of the controllers. With an error it returns what is known.
	Versions(context.Context) (server string, controllers []struct{ Namespace, Version, Mode string }, err error)
	// Journal returns entries of the cluster's controller, oldest first.
	Journal(ctx context.Context, q journal.Query) ([]journal.Entry, error)
	// Dashboard opens the status page of the controller that works for a namespace, "" for any, and returns a link that logs in the first browser
	// that opens it. For a controller in a pod a local port is forwarded to it, which pod names as namespace/pod:port, until the context ends.
	Dashboard(ctx context.Context, namespace string) (link, pod string, err error)
}

// Resources are the custom resources of Flux and Argo CD as they say themselves, sources too.
type Resources interface {
	// ListResources returns the custom resources of a query.
	ListResources(context.Context, resource.Query) (resource.List, error)
	// FollowResources calls seen with all that there is of a query, first when all is known and then after each change, until seen returns true.
	// It returns nil then, or the context's error.
	FollowResources(ctx context.Context, q resource.Query, seen func(resource.List) bool) error
	// RequestReconcile asks the controller of a custom resource to reconcile it now, and returns the token of the request, as RequestRun does.
	RequestReconcile(context.Context, resource.Resource) (token string, err error)
	// RefreshResource has an Application refreshed, normal or hard as Argo CD says, and returns it as it is after that.
	RefreshResource(ctx context.Context, r resource.Resource, how string) (resource.Resource, error)
	// SuspendResource suspends a custom resource of Flux.
	SuspendResource(context.Context, resource.Resource) error
	// ResumeResource ends that.
	ResumeResource(context.Context, resource.Resource) error
}

// Previewer looks at apps with other files than those that they follow.
type Previewer interface {
	// Preview runs all stages for one app without writing, as Inspect does, and for the members that the Preview asks for.
	Preview(context.Context, app.Key, view.Preview) ([]view.Detail, error)
	// Build returns the objects that the files describe through the app's spec, as a run would send them, with masked Secrets.
	Build(context.Context, app.Key, view.Preview) ([]redact.Shown, error)
}

// Lineage says what belongs to what, and what happened to it.
type Lineage interface {
	// Tree returns the objects that an app's status lists, and those that apps among them list.
	Tree(context.Context, app.Key) (resource.Node, error)
	// Trace finds the app that keeps an object, and the app's source.
	Trace(context.Context, explain.Question) (resource.Trace, error)
	// ListEvents returns the Events of a query, the oldest first.
	ListEvents(context.Context, resource.EventQuery) ([]resource.Event, error)
	// FollowEvents calls seen with each Event of a query, from one goroutine: those that there are, then what comes, until ctx ends.
	FollowEvents(ctx context.Context, q resource.EventQuery, seen func(resource.Event)) error
	// SourceKey returns the source that an app names; the zero key where it is no app, or not in the cluster.
	SourceKey(context.Context, app.Key) (app.Key, error)
}

// Closer ends what Connect began.
type Closer interface{ Close() }
