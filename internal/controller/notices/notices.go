// Package notices answers: which messages wait for which Provider of this cluster?
//
// In: watches of Providers and Alerts; the messages of a controller, and which matters hold; a watch of Applications, and Argo CD's
// argocd-notifications-cm.
// Out: notes in the queues of an outbox.Store, which deliver sends; the statuses of Providers and Alerts.
// Promise: Accept and Settle never block; nothing is judged before the Alerts were listed; a matter and the notes about it are stored in one
// write, so that neither is lost or repeated by a crash.
// Not here: which messages are worth sending (notify/matter), sending (notify/deliver), what custom resources mean (dialect).
package notices

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// Dialect translates the custom resources that say who gets which messages. Its methods change nothing that they are given.
type Dialect interface {
	// Provider reads where messages go, without credentials.
	Provider(cr object.Object) route.Provider
	// Alert reads which messages go to a Provider.
	Alert(cr object.Object) route.Alert
	// Status returns the whole new .status of either.
	Status(cr object.Object, s route.State) map[string]any
}

// Options are what an Outlet works with.
type Options struct {
	Cluster    *cluster.Client
	Watcher    live.Watcher
	Live       live.Reader
	Dialect    Dialect
	Namespaces cluster.Namespaces
	Store      *outbox.Store
	Servers    egress.Policy
	Clouds     *cloud.Exchange
	Windows    deliver.Windows // the zero value for the default
	Panics     panics.Counter
	Log        *slog.Logger
	Term       *lease.Term // in which it works; nil without a leader election
	Commit     ReadCommit  // for templates and conditions of Argo CD's; nil for none
	// Subscribers are the namespaces whose Applications may subscribe to messages of Argo CD's services; nil for all.
	Subscribers []string
}

// ReadCommit reads a commit of the repositories that an app is from, without asking a server, until the context ends. awaited says that an error may soon be none.
type ReadCommit func(ctx context.Context, key app.Key, hash string) (got subscription.Commit, awaited bool, err error)

// Outlet takes messages to the Providers of a cluster.
type Outlet struct {
	Options
	deliverer   *deliver.Deliverer
	subscribers *subscribers
	rotations   *rotations

	mu           sync.Mutex
	alerts       map[route.Key]alertEntry
	providers    map[route.Key]providerEntry
	applications map[object.ID]live.Event // that are to be judged for their subscribers
	timed        timedApps
	early        earlyApps
	later        time.Time // when the Later of a matter is due next; zero for never. The goroutine of storeMessages has it
	waiting      []intake
	lost         int
	resumed      bool               // an Alert or a Provider is another one, is no longer suspended, sends again or is gone
	changed      map[objectKey]bool // whose status is to be written
	wrote        map[objectKey]string
	statusPause  time.Duration // before a status or an Event is written again that could not be
	come         chan struct{} // something waits
	judge        chan struct{} // an Application has changed
	dirty        chan struct{}
}

var _ notify.Outlet = (*Outlet)(nil)

type alertEntry struct {
	cr    object.Object
	alert route.Alert
}

type providerEntry struct {
	cr       object.Object
	provider route.Provider
	failing  string
}

// sends reports whether messages go to a Provider.
func (p providerEntry) sends() bool { return !p.provider.Suspended && len(p.provider.Problems) == 0 }

// objectKey names a Provider or an Alert.
type objectKey struct {
	kind string
	route.Key
}

// NewOutlet returns an Outlet. Its Run does the work.
func NewOutlet(o Options) *Outlet {
	if o.Windows == (deliver.Windows{}) {
		o.Windows = deliver.DefaultWindows()
	}
	out := &Outlet{
		Options: o, alerts: map[route.Key]alertEntry{}, providers: map[route.Key]providerEntry{}, changed: map[objectKey]bool{}, wrote: map[objectKey]string{}, statusPause: statusRetry,
		come: make(chan struct{}, 1), judge: make(chan struct{}, 1), dirty: make(chan struct{}, 1), subscribers: newSubscribers(o), applications: map[object.ID]live.Event{},
	}
	out.deliverer = &deliver.Deliverer{Store: o.Store, Providers: out, Servers: o.Servers, Windows: o.Windows, Clouds: o.Clouds, Log: o.Log}
	out.rotations = newRotations(o.Watcher, out.deliverer)
	return out
}

func signalChange(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run implements notify.Outlet.
func (o *Outlet) Run(ctx context.Context) error {
	o.rotations.start(ctx)
	o.deliverer.Start(ctx)
	defer o.deliverer.Wait()
	o.beginTerm()
	if !o.list(ctx) {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.writeStatuses(ctx)
	}()
	defer func() { <-done }()
	o.wakeRecipients()
	o.work(ctx)
	return nil
}

// list begins the watches, and returns when they have handed over what there is, or there is nothing of their kind; false where ctx ends before.
func (o *Outlet) list(ctx context.Context) bool {
	watches := map[live.Interest]live.Watch{}
	for _, namespace := range o.Namespaces.Each() {
		for gvk, handle := range map[object.GVK]func(live.Event){registry.Providers: o.onProvider, registry.Alerts: o.onAlert, registry.Applications: o.onApplication} {
			i := live.Interest{GVK: gvk, Namespace: namespace, Depth: live.Full}
			watches[i] = o.Watcher.Watch(ctx, i, handle)
		}
	}
	for i, w := range watches {
		err := live.AwaitListed(ctx, w, isAbsent)
		if err != nil && ctx.Err() != nil {
			return false
		}
		if err != nil || i.GVK != registry.Applications {
			continue
		}
		if err := o.dropGone(i.Namespace); err != nil {
			o.Log.Warn("subscriptions", "error", err.Error())
		}
	}
	o.noteEarly()
	return true
}

// work takes what comes until ctx ends. Applications are looked at by a goroutine of their own: a commit that is read holds up no message.
func (o *Outlet) work(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.followApplications(ctx)
	}()
	o.storeMessages(ctx)
	<-done
}

// isAbsent reports whether there are no Providers and Alerts until the cluster is changed.
func isAbsent(err error) bool {
	return errors.Is(err, live.ErrUnknownKind) || apierrors.IsForbidden(err)
}

// guard keeps a panic from ending more than one piece of work.
func (o *Outlet) guard(work string, do func()) {
	defer func() {
		if p := panics.CaughtError(recover()); p != nil {
			o.Log.Error("panic", "work", work, "error", p.Value, "stack", p.Stack)
			o.Panics.CountPanic(work)
		}
	}()
	do()
}
