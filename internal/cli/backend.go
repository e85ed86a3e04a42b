package cli

import (
	"context"
	"github.com/truce-gitops/truce/internal/controller/leader"
	"io/fs"
	"log/slog"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/lint/autoscaled"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/view"
)

// Backend is what commands do. Each function blocks until it is done or its context ends.
type Backend struct {
	// Connect opens the cluster for the commands about apps.
	Connect func(context.Context, cluster.Target) (*Cluster, error)
	// Survey finds the apps of a repository, renders them, and has them used, while their files can be read.
	Discover func(ctx context.Context, q discover.Request, use func(discover.Discovery) error) error
	// Journal returns entries, oldest first: of the controller at a URL, or of a journal file that no controller has open.
	Journal func(ctx context.Context, from string, q journal.Query) ([]journal.Entry, error)
	// Controller runs the controller until ctx ends.
	Controller func(context.Context, ControllerOptions) error
	// Up starts what `truce up` starts, and reports each step as it is done. The World is closed by the caller.
	Up func(ctx context.Context, o UpOptions, say func(step string)) (*UpEnvironment, error)
	// Maintenance is what commands about an installation do.
	Maintenance maintenance
	// CRDs are the definitions that truce installs, as *.yaml.
	CRDs fs.FS
}

// Cluster is what commands about apps need of one cluster. Nothing in it writes to users' objects.
type Cluster struct {
	// Names lists the apps of a namespace, of all for "". It is one request.
	Names func(ctx context.Context, namespace string) ([]app.Key, error)
	// Namespaces lists the cluster's namespaces.
	Namespaces func(context.Context) ([]string, error)
	// Follow calls seen with all apps of a namespace, first when all is known and then after each change, until seen
	// returns true. It returns nil then, or the context's error.
	Follow func(ctx context.Context, namespace string, seen func([]view.Summary) bool) error
	// Inspect walks one app through all stages without writing. What stopped it is in the Report.
	Inspect func(context.Context, app.Key) (view.Detail, error)
	// Adoption looks what the adoption of an app would do. That another controller has not let go of the app is an ExitError.
	Adoption func(context.Context, app.Key) (view.Adoption, error)
	// Passage follows how the objects listed move to truce, or back, as the app's custom resource says, until seen returns true or all
	// have. What of them is not in the cluster does not count.
	FollowMove func(ctx context.Context, key app.Key, listed []report.ListedObject, seen func(moved, all int) bool) error
	// Alive says why it is in doubt that a controller works for a namespace; "" for a sign of life.
	ControllerAbsence func(ctx context.Context, namespace string) (doubt string, err error)
	// Versions are those of the API server and of the controllers. With an error it returns what is known.
	Versions func(context.Context) (server string, controllers []struct{ Namespace, Version, Mode string }, err error)
	// Ask makes the controller run the app now, and returns the token that Summary.Handled will show when it has.
	RequestRun func(context.Context, view.Request) (token string, err error)
	// Edit writes another form of an app's custom resources, or a new app's, or takes them away.
	Edit func(context.Context, view.Edit) (view.EditResult, error)
	// AppState reads what an app's custom resource says.
	AppState func(context.Context, app.Key) (dialect.Summary, error)
	// Journal returns entries of the cluster's controller, oldest first.
	Journal func(ctx context.Context, q journal.Query) ([]journal.Entry, error)
	// Dashboard opens the status page of the controller that works for a namespace, "" for any, and returns a link that logs in the first browser
	// that opens it. For a controller in a pod a local port is forwarded to it, which pod names as namespace/pod:port, until the context ends.
	Dashboard func(ctx context.Context, namespace string) (link, pod string, err error)
	// Claimants lists the objects of a namespace, of all for "", that claim something, by what the catalogue knows.
	Claimants func(ctx context.Context, c *claim.Catalogue, namespace string) ([]claim.Claimant, error)
	// Rivals lists the workloads of a namespace, of all for "", that are under Git and autoscaled, in order.
	AutoscaledWorkloads func(ctx context.Context, c *claim.Catalogue, namespace string) ([]autoscaled.Workload, error)
	// Explain gathers what is known of one object. What could not be found out stands in the Subject.
	Explain func(context.Context, explain.Question) (explain.Subject, error)
	// Objects lists the names of a kind's objects in a namespace; for no kind, the names of the kinds.
	Objects func(ctx context.Context, kind, namespace string) ([]string, error)
	// Close ends what Connect began.
	Close func()
}

// ControllerOptions are the flags of `truce controller`.
type ControllerOptions struct {
	cluster.Target
	Process app.Policy
	Tenancy tenancy.Rules // what holds for each app, whatever its custom resource says
	// Namespaces are those whose custom resources the controller works for; none means all.
	Namespaces cluster.Namespaces
	CacheDir   string
	Listen     string // address of the status page; empty for none
	// MetricsListen is the address of /metrics; empty for that of the status page.
	MetricsListen string
	Election      leader.Election
	// LocalSources lets sources be repositories on this machine.
	LocalSources bool
	Sources      egress.Policy     // the servers that sources may be at
	Remotes      upstream.Hosts    // what kustomizations may name by addresses
	Catalogue    *claim.Catalogue  // what claimants are recognised by
	Witness      attribution.Place // where admission reports writers; the zero Place for none
	Apps         int               // that are worked on at once
	Objects      int
	// EventsAddress is the URL that receives a copy of every Event, in the form of Flux's generic Provider; may be empty.
	EventsAddress string
	Log           *slog.Logger
}

// UpOptions are the flags of `truce up`.
type UpOptions struct {
	cluster.Target
	Dir    string
	Repo   string // a URL or a path; empty for a copy of the demo
	Path   string
	Branch string
	Listen string
	// Reset removes the cluster of an earlier run, but not its repository.
	Reset         bool
	MetricsListen string // as for the controller
	ReadyFile     string
	Process       app.Policy
	Witness       attribution.Place // as for the controller
}

// UpEnvironment is what `truce up` has started.
type UpEnvironment struct {
	Kubeconfig string `json:"kubeconfig"`
	Repo       string `json:"repo"` // a URL or a path
	URL        string `json:"url"`  // of the status page, /healthz and /metrics
	Page       string `json:"page"` // a link that logs in the first browser that opens it
	Kubectl    string `json:"kubectl,omitempty"`
	Truce      string `json:"-"` // the program itself
	// Context is the one of the kubeconfig, where it is not its current one.
	Context string `json:"context,omitempty"`
	// Brought are the objects that were put into a cluster that is not ours, and stay there: kind/name or kind/namespace/name.
	Brought []string `json:"brought,omitempty"`
	Demo    bool     `json:"-"` // Repo is ours to change

	Cluster *Cluster `json:"-"`
	// Notices are what the engine does about fields, as it does it. Without a reader some are lost, and nothing is delayed.
	Notices <-chan reconcile.FindingEvent `json:"-"`
	// Ended is closed when the controller or the sandbox has ended by itself; Err says why then.
	Ended <-chan struct{} `json:"-"`
	Err   func() error    `json:"-"`
	// Close ends all that was started, within five seconds.
	Close func() `json:"-"`
}
