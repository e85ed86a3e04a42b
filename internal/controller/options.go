package controller

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/generate"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"k8s.io/apimachinery/pkg/labels"
)

// Settings are what an operator chooses for a controller. They are declared here once, for the flags of `truce controller`, for what compose
// puts together, and for the controller.
type Settings struct {
	// Namespaces are those whose custom resources are worked for; none means all.
	Namespaces cluster.Namespaces
	// RuntimeNamespace is where the controller keeps what is about itself; empty for the first of Namespaces, else its connection's.
	RuntimeNamespace string

	Process policy.Policy // what holds where a custom resource says nothing
	Tenancy tenancy.Rules // what holds for each app, whatever its custom resource says; compose fills in Reaches and Admins
	// Catalogue is what claimants are recognised by; nil for the built-in one. The ConfigMap truce-claims goes over it.
	Catalogue *claim.Catalogue
	// LocalSources says whether a source may be a repository on this machine: a user who may write a GitRepository then reads
	// what truce can read. It is for a machine of one's own.
	LocalSources LocalSources
	Sources      egress.Policy     // the servers that sources may be at
	Remotes      upstream.Hosts    // what kustomizations may name by addresses
	WatchConfigs labels.Selector   // which ConfigMaps and Secrets run the apps that take variables from them; nil for those of Flux
	KeyService   keys.Service      // decrypts the data keys of KMS and Vault; nil for none
	Witness      attribution.Place // where admission reports writers; the zero Place for none
	CacheDir     string            // clones and the journal; made if absent
	Workers      Workers           // zero fields take the defaults
	Pace         Pace              // as well
	Log          *slog.Logger
}

// Home is the namespace of what is about the controller itself; own is that of its connection.
func (s Settings) Home(own string) string { return s.Namespaces.Home(s.RuntimeNamespace, own) }

// Options are the settings of a controller, and the parts that it drives.
type Options struct {
	Settings
	Cluster *cluster.Client
	Watcher live.Watcher
	Objects live.Watcher // watches the objects of apps; nil for Watcher
	Fetcher source.Fetcher
	Builder generate.Builder // makes the artifacts of ArtifactGenerators
	// Commits compares and reads commits; nil for neither.
	Commits interface {
		Related(ctx context.Context, s source.Spec, was, is string) (bool, error)
		Commit(ctx context.Context, a source.Artifact, hash string) (git.Commit, error)
	}
	Local source.Watcher // reports at once changes in repositories on this machine
	Kinds Kinds
	// Remotes opens the clusters that apps name by a kubeconfig; nil refuses such apps.
	Remotes Remotes
	// Configured knows the webhooks and policies of mutating admission; nil for not looking.
	Configured Configured
	Observer   Observer                  // nil for none
	Queues     workqueue.MetricsProvider // of the work queues; nil for none
	Notify     notify.Sender             // gets a copy of every Event; may be nil
	Outlet     notify.Outlet             // gets it as well, for Providers; may be nil
}

// Observer is called with what a controller does, from any goroutine. Its methods must not block.
type Observer interface {
	// OnFinding is called with each finding that is new, or has changed.
	OnFinding(report.FindingEvent)
	// OnReport is called with each app whose report changed.
	OnReport(app.Key)
	// OnKindsChanged is called when a kind comes under watch or leaves.
	OnKindsChanged()
	// OnRun is called with each run of an app that has ended, and how long it took.
	OnRun(report.Report, time.Duration)
	// OnFetch is called with each fetch of a source that has ended.
	OnFetch(app.SourceKey, time.Duration, error)
	// OnPanic is called with the kind of work of each panic that was recovered.
	OnPanic(work string)
}

// NoObserver is an Observer that does nothing. Others embed it.
type NoObserver struct{}

// OnFinding implements Observer.
func (NoObserver) OnFinding(report.FindingEvent) {}

// OnReport implements Observer.
func (NoObserver) OnReport(app.Key) {}

// OnKindsChanged implements Observer.
func (NoObserver) OnKindsChanged() {}

// OnRun implements Observer.
func (NoObserver) OnRun(report.Report, time.Duration) {}

// OnFetch implements Observer.
func (NoObserver) OnFetch(app.SourceKey, time.Duration, error) {}

// OnPanic implements Observer.
func (NoObserver) OnPanic(string) {}

// LocalSources says whether repositories on this machine are sources.
type LocalSources string

// The values of LocalSources. The zero value refuses.
const (
	RefuseLocal LocalSources = ""
	AllowLocal  LocalSources = "allow"
)

// Kinds are the custom resources that are translated, and by whom.
type Kinds struct {
	Apps    map[object.GVK]dialect.Apps
	Sources map[object.GVK]dialect.Sources
	Inline  map[object.GVK]dialect.Sources // by the kind of the apps that name their source themselves
	// Projects reads what bounds apps; nil where nothing does.
	Projects interface {
		Kind() object.GVK
		Project(cr object.Object) project.Project
		// Settings name the ConfigMap that says which projects others inherit from, and what is ignored for all apps.
		Settings() (object.GVK, string)
		Globals(cm object.Object) []project.Global
		Ignored(cm object.Object) (ignore.Rules, []app.Problem)
	}
	Fields FieldLoss // nil for never asking
	// ValuesSelector selects the ConfigMaps and Secrets whose change runs the apps that take variables from them; empty for all.
	ValuesSelector string
}

// FieldLoss knows fields that a server does not store.
type FieldLoss interface {
	// DroppedHint says what of an app's custom resource the server does not store under the CRD that it has, and what serves instead; empty
	// where it stores all that truce reads, and for the CRDs of other kinds.
	DroppedHint(crd object.Object) string
}

// Workers bound how much is worked on at once.
type Workers struct {
	Apps, Objects, Sources, Statuses int
}

// DefaultWorkers suit one API server: most of the time of each is spent waiting for it.
func DefaultWorkers() Workers { return Workers{Apps: 16, Objects: 16, Sources: 4, Statuses: 8} }

// OrDefault returns the bounds with those of DefaultWorkers where there is none.
func (w Workers) OrDefault() Workers {
	d := DefaultWorkers()
	return Workers{
		Apps: cmp.Or(w.Apps, d.Apps), Objects: cmp.Or(w.Objects, d.Objects),
		Sources: cmp.Or(w.Sources, d.Sources), Statuses: cmp.Or(w.Statuses, d.Statuses),
	}
}
