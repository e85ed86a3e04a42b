package notices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
)

// The names of Argo CD's objects, and where they are in a cluster that truce works for as a whole.
const (
	argoNamespace     = project.ArgoNamespace
	argoConfig        = "argocd-notifications-cm"
	argoSecret        = "argocd-notifications-secret" //nolint:gosec // a name
	argoOwnController = "argocd-notifications-controller"
	argoNotified      = "notified.notifications.argoproj.io" // Argo CD's record of what it has sent
)

const (
	configAge      = 10 * time.Second // how long what was read serves
	quietAge       = 5 * time.Minute  // the same for Applications that do not subscribe to anything themselves
	mostProjects   = 1000             // that are in memory; with one more, all are forgotten
	mostRecipients = 1000             // of all services: each has a queue and a goroutine
	faultAge       = 24 * time.Hour   // how long the fault of a recipient for whom nothing waits is shown
)

// subscribers is what is known of Argo CD's notifications.
type subscribers struct {
	namespace string

	turn     chan struct{} // holds one while the API server is asked; who has it has projects
	projects map[route.Key]projectEntry

	mu sync.Mutex // guards what follows; never held while the server is asked
	argoReading
	recipients map[route.Key]bool
	failing    map[route.Key]recipientFault
}

// recipientFault is why a recipient gets nothing, and since when.
type recipientFault struct {
	text  string
	since time.Time
}

// argoReading is what was found when the API server was asked.
type argoReading struct {
	cr       object.Object // the ConfigMap
	problems []string
	settings *argoSettings // nil for none, or where Argo CD's own controller sends
	read     time.Time
}

// argoSettings are of one reading.
type argoSettings struct {
	*subscription.Config
	secret   map[string][]byte
	versions map[object.ID]string // of the ConfigMap and the Secret
}

// projectEntry is what an AppProject subscribes to.
type projectEntry struct {
	annotations map[string]string
	read        time.Time
}

func newSubscribers(o Options) *subscribers {
	s := &subscribers{namespace: argoNamespace, turn: make(chan struct{}, 1), recipients: map[route.Key]bool{}, failing: map[route.Key]recipientFault{}, projects: map[route.Key]projectEntry{}}
	if o.Namespaces.Limited() {
		s.namespace = o.Namespaces.Each()[0]
	}
	return s
}

// configKey names the ConfigMap among what has a status.
func (s *subscribers) configKey() objectKey {
	return objectKey{"ConfigMap", route.Key{Namespace: s.namespace, Name: argoConfig}}
}

// keyOf names the queue of a recipient. No Provider has a name with a slash.
func (s *subscribers) keyOf(service, recipient string) route.Key {
	return route.Key{Namespace: s.namespace, Name: argoConfig + "/" + service + "/" + recipient}
}

// recipientOf is the opposite of keyOf.
func recipientOf(key route.Key) (service, recipient string, is bool) {
	rest, is := strings.CutPrefix(key.Name, argoConfig+"/")
	service, recipient, _ = strings.Cut(rest, "/")
	return service, recipient, is
}

// load returns what argocd-notifications-cm says, which was read so long ago at most; nil for none.
func (s *subscribers) load(ctx context.Context, reader live.Reader, age time.Duration) (*argoSettings, error) {
	if known, is := s.readSince(age); is {
		return known.settings, nil
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if known, is := s.readSince(age); is { // by who had the turn before
		return known.settings, nil
	}
	next, err := s.readConfig(ctx, reader)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.argoReading = next
	return next.settings, nil
}

// readSince returns what was read, if that was so long ago at most.
func (s *subscribers) readSince(age time.Duration) (argoReading, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.argoReading, time.Since(s.read) < age
}

// take waits for the turn to read, which leave gives back: all wait for the same answer, and nothing else waits for the API server.
func (s *subscribers) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *subscribers) leave() { <-s.turn }

// readConfig reads Argo CD's notifications. The caller has the turn.
func (s *subscribers) readConfig(ctx context.Context, reader live.Reader) (out argoReading, err error) {
	out.read = time.Now()
	if out.cr, err = s.get(ctx, reader, object.GVK{Version: "v1", Kind: "ConfigMap"}, argoConfig); err != nil || out.cr == nil {
		return out, err
	}
	own, err := s.get(ctx, reader, object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"}, argoOwnController)
	if err != nil || own != nil && fmt.Sprint(own.At("spec", "replicas")) != "0" { // it sends
		return out, err
	}
	id := object.ID{Kind: secretKind.Kind, Namespace: s.namespace, Name: argoSecret}
	secret, version, err := readSecret(ctx, reader, id)
	if err != nil {
		return out, err
	}
	config, problems := subscription.Parse(textsIn(out.cr.At("data")))
	general, err := s.get(ctx, reader, object.GVK{Version: "v1", Kind: "ConfigMap"}, "argocd-cm")
	if err != nil {
		return out, err
	}
	url := "https://localhost:4000" // Argo CD's value without one
	if text := textsIn(general.At("data"))["url"]; text != "" {
		url = text
	}
	config.SetContext("argocdUrl", url)
	out.settings = &argoSettings{config, secret, map[object.ID]string{id: version, out.cr.ID(): out.cr.ResourceVersion()}}
	out.problems = problems
	return out, nil
}

// get reads an object of Argo CD's; nil for one that is not there.
func (s *subscribers) get(ctx context.Context, reader live.Reader, kind object.GVK, name string) (object.Object, error) {
	o, err := reader.Get(ctx, kind, object.ID{Group: kind.Group, Kind: kind.Kind, Namespace: s.namespace, Name: name})
	switch {
	case errors.Is(err, live.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s/%s: %w", kind.Kind, s.namespace, name, err)
	}
	return o, nil
}

// appProjects is the kind of AppProjects.
var appProjects = object.GVK{Group: "argoproj.io", Version: "v1alpha1", Kind: "AppProject"}

// projectOf returns the name of an Application's AppProject; empty for one that no AppProject can have, for which there is no request either.
func projectOf(app object.Object) string {
	name, _ := app.At("spec", "project").(string)
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return ""
	}
	return name
}

// project returns the annotations of an AppProject, which were read so long ago at most. It is in Argo CD's namespace. Where there are no AppProjects, or truce may not read them, nothing is subscribed to.
func (s *subscribers) project(ctx context.Context, reader live.Reader, name string, age time.Duration) (map[string]string, error) {
	key := route.Key{Namespace: s.namespace, Name: name}
	if name == "" {
		return nil, nil
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if known, is := s.projects[key]; is && time.Since(known.read) < age {
		return known.annotations, nil
	}
	cr, err := s.get(ctx, reader, appProjects, name)
	if errors.Is(err, live.ErrUnknownKind) || apierrors.IsForbidden(err) {
		cr, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(s.projects) >= mostProjects {
		clear(s.projects)
	}
	s.projects[key] = projectEntry{textsIn(cr.At("metadata", "annotations")), time.Now()}
	return s.projects[key].annotations, nil
}

func textsIn(v any) map[string]string {
	all, _ := v.(map[string]any)
	out := make(map[string]string, len(all))
	for key, value := range all {
		out[key], _ = value.(string)
	}
	return out
}

// recipientProvider is a recipient as a Provider, with the resourceVersions of what it was read from.
type recipientProvider struct {
	deliver.Loaded
	versions map[object.ID]string
}

// provider returns a recipient as a Provider; false for one whose service is not there, or where Argo CD's own controller sends. After a failure it is read again.
func (s *subscribers) provider(ctx context.Context, reader live.Reader, key route.Key) (out recipientProvider, there bool, err error) {
	s.mu.Lock()
	age := configAge
	if s.failing[key].text != "" {
		age = 0
	}
	s.mu.Unlock()
	settings, err := s.load(ctx, reader, age)
	if err != nil || settings == nil {
		return out, false, err
	}
	service, recipient, _ := recipientOf(key)
	out.versions = settings.versions
	out.Loaded, there, err = settings.Provider(key, service, recipient, settings.secret)
	return out, there, err
}

// admit reports whether a recipient may have a queue, of so many for whom something waits.
func (s *subscribers) admit(key route.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.recipients[key] && len(s.recipients) >= mostRecipients {
		return false
	}
	s.recipients[key] = true
	return true
}

// release is the opposite of admit.
func (s *subscribers) release(key route.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.recipients, key)
}

// delivered notes what came of a try, and reports whether that is news.
func (s *subscribers) delivered(key route.Key, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, failed := s.failing[key]
	delete(s.failing, key)
	if err == nil {
		return failed
	}
	service, recipient, _ := recipientOf(key)
	now := recipientFault{strings.TrimSuffix("service."+service+" to "+recipient, " to ") + ": " + strings.TrimPrefix(err.Error(), "service."+service+": "), time.Now()}
	if failed {
		now.since = was.since
	}
	s.failing[key] = now
	return now != was
}

// state returns the ConfigMap, and what an Event about it says: the newest fault first, since an Event has no room for many. A recipient that no annotation names any
// more never succeeds, so its fault is forgotten.
func (s *subscribers) state() (object.Object, route.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.failing, func(key route.Key, f recipientFault) bool {
		return !s.recipients[key] && time.Since(f.since) > faultAge
	})
	faults := slices.SortedFunc(maps.Values(s.failing), func(a, b recipientFault) int {
		return cmp.Or(b.since.Compare(a.since), strings.Compare(a.text, b.text))
	})
	all := slices.Clone(s.problems)
	for _, f := range faults {
		all = append(all, f.text)
	}
	return s.cr, route.State{Failing: strings.Join(all, "; ")}
}
