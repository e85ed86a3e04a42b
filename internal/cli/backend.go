package cli

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/lint/autoscaled"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/fix"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/appstate"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Backend is what commands do. Each function blocks until it is done or its context ends.
type Backend struct {
	// Connect opens the cluster for the commands about apps.
	Connect func(context.Context, Target) (*Cluster, error)
	// Render makes objects of files, Compare compares them, Assess judges their health: nothing is written anywhere.
	Render  func(context.Context, AdHoc) ([]render.Object, error)
	Compare func(context.Context, AdHoc) (Detail, error)
	Assess  func(context.Context, AdHoc) ([]report.Object, error)
	// Survey finds the apps of a repository, renders them, and has them used, while their files can be read.
	Discover func(ctx context.Context, q discover.Request, use func(discover.Discovery) error) error
	// Mend looks for the edits that end what an audit finds, and has them used: Mending writes them.
	PlanFixes func(ctx context.Context, q fix.Request, use func(FixRun) error) error
	// Journal returns entries, oldest first: of the controller at a URL, or of a journal file that no controller has open.
	Journal func(ctx context.Context, from string, q journal.Query) ([]journal.Entry, error)
	// Controller runs the controller until ctx ends.
	Controller func(context.Context, ControllerOptions) error
	// Up starts what `truce up` starts, and tells of each step as it is done. The World is closed by the caller.
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
	Follow func(ctx context.Context, namespace string, seen func([]Summary) bool) error
	// Inspect walks one app through all stages without writing. What stopped it is in the Report.
	Inspect func(context.Context, app.Key) (Detail, error)
	// Adoption looks what the adoption of an app would do. That another controller has not let go of the app is an ExitError.
	Adoption func(context.Context, app.Key) (Adoption, error)
	// Passage follows how the objects listed move to truce, or back, as the app's custom resource says, until seen returns true or all
	// have. What of them is not in the cluster does not count.
	FollowMove func(ctx context.Context, key app.Key, listed []report.ListedObject, seen func(moved, all int) bool) error
	// Alive says why it is in doubt that a controller works for a namespace; "" for a sign of life.
	ControllerAbsence func(ctx context.Context, namespace string) (doubt string, err error)
	// Versions are those of the API server and of the controllers. With an error it returns what is known.
	Versions func(context.Context) (server string, controllers []struct{ Namespace, Version, Mode string }, err error)
	// Ask makes the controller run the app now, and returns the token that Summary.Handled will show when it has.
	RequestRun func(context.Context, Request) (token string, err error)
	// Edit writes another form of an app's custom resources, or a new app's, or takes them away.
	Edit func(context.Context, Edit) (EditResult, error)
	// Tell reads what an app's custom resource tells.
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

// Edit is a change of an app's custom resources.
type Edit struct {
	App    app.Key
	How    How
	Change dialect.Change
	// Given are custom resources to create; the zero value makes new ones for the Change.
	Given dialect.Resources
	// Force writes a rule also if it matches nothing that the app describes.
	Force bool
	// DryRun asks the server what it would say, and writes nothing.
	DryRun bool
}

// How says what is to be done with an app's custom resources.
type How string

// The values of How.
const (
	Alter  How = "alter"  // they must be there
	Create How = "create" // they must not be there, unless they say the same
	Upsert How = "upsert" // either
	Delete How = "delete"
)

// EditResult is what came of an Edit.
type EditResult struct {
	Before, After dialect.Resources // Before is zero for a new app
	Notes         []string
	// Parent manages the custom resource from Git, and will not let the change stand; its zero value is nobody.
	Parent dialect.Parent
	// Overruled says that the Parent owns a field that was changed: it is sure to revert it.
	Overruled bool
	// Place is where the Parent's source describes the custom resource, if that is known.
	Place desired.Place
}

// Request asks for a run of an app.
type Request struct {
	App app.Key
	// Source says whether its source is to be looked at anew first.
	Source bool
	Run    dialect.Run
}

// Summary is how an app stands, by its custom resource and by the objects that bear its mark.
type Summary struct {
	Key     app.Key
	Labels  map[string]string
	Source  app.SourceKey
	Path    string
	Created time.Time
	State   appstate.State
	// Observed says that truce only watches the app: what is told here is By's, who has written the status last; nobody where empty.
	Observed bool
	By       string
	// Lost says that the app was adopted and its former controller works on it again; empty for any other app.
	Lost     string
	Revision string // the newest that was applied whole
	Message  string // the dialect's own, of the newest run
	Handled  string // the newest request that was acted on
	// Ceded tells the ceded fields, where a count of Git's is among them that is not applied; empty for none.
	Ceded string
	// Contested is the evidence of contested fields; empty for none.
	Contested string
	// Settled says that this is about the newest form of the custom resource, and that no run goes on.
	Settled bool
}

// Detail is one app as a run without writes found it.
type Detail struct {
	App    app.App
	Report report.Report
	// Leaving are objects that truce has made for the app and that Git no longer names: a run would prune them.
	Leaving []object.ID
	// Prune is what a run would do about what left Git.
	Prune decide.PrunePlan
	// Origin tells where Git writes a field of one of the app's objects; the zero Place if that is not known.
	Origin func(object.ID, field.Path) desired.Place
	// Told is what the custom resource tells of the controller's own runs.
	Told dialect.Summary
}

// Adoption is how an app would be adopted, or is.
type Adoption struct {
	Way     app.AdoptionMode
	At      time.Time // when it is asked for: not before any entry of the other's
	Already bool
	Detail  Detail // what would be changed, taken away and pruned
}

// ControllerOptions are the flags of `truce controller`.
type ControllerOptions struct {
	Target
	Process app.Policy
	Tenancy tenancy.Rules // what holds for each app, whatever its custom resource says
	// Namespaces are those whose custom resources the controller works for; none means all.
	Namespaces cluster.Namespaces
	CacheDir   string
	Listen     string // address of the status page; empty for none
	// MetricsListen is the address of /metrics; empty for that of the status page.
	MetricsListen string
	Election      Election
	// LocalSources lets sources be repositories on this machine.
	LocalSources bool
	Sources      egress.Policy     // the servers that sources may be at
	Remotes      upstream.Hosts    // what kustomizations may name by addresses
	Catalogue    *claim.Catalogue  // what claimants are recognised by
	Witness      attribution.Place // where admission tells who wrote; the zero Place for nowhere
	Apps         int               // that are worked on at once
	Objects      int
	// EventsAddress gets what Events tell, as Flux's notification-controller and what takes its generic Provider's form do; empty for nobody.
	EventsAddress string
	Log           *slog.Logger
}

// Election names the Lease by which one of several controllers becomes the one that works. The zero value is no election.
type Election struct {
	Namespace, Name string
	// Duration is how long the Lease holds after its last renewal.
	Duration time.Duration
}

// UpOptions are the flags of `truce up`.
type UpOptions struct {
	Target
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
	// Notices are what the engine does about fields, as it does it. Nobody reading loses some, and holds up nothing.
	Notices <-chan reconcile.FindingEvent `json:"-"`
	// Ended is closed when the controller or the sandbox has ended by itself; Err says why then.
	Ended <-chan struct{} `json:"-"`
	Err   func() error    `json:"-"`
	// Close ends all that was started, within five seconds.
	Close func() `json:"-"`
}
