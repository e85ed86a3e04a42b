package witness

import (
	"context"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/events"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// pastWithin is how far back a journal is read for who wrote what is live.
const pastWithin = 24 * time.Hour

// eventsDelay is how long after a change its Events are read: the HPA controller writes them some milliseconds later.
const eventsDelay = 3 * time.Second

// Sight is how a controller learns who writes: from Events, from a journal, and from admission where there is a place for its reviews.
type Sight struct {
	cluster    *cluster.Client
	settings   controller.Settings
	controller *controller.Controller
	ring       *attribution.Ring // nil without a place
	used       chan struct{}     // has something when kinds in use have changed
}

// NewSight returns the Sight of a controller with these settings. Its methods are used in the order Evidence, SetController, Run.
func NewSight(c *cluster.Client, s controller.Settings) *Sight {
	return &Sight{cluster: c, settings: s, used: make(chan struct{}, 1)}
}

// Evidence returns what an engine asks; j is nil where no journal is kept.
func (s *Sight) Evidence(h ownership.Hasher, j journal.Journal) reconcile.WriterEvidence {
	out := reconcile.WriterEvidence{Events: events.NewReader(s.cluster), Delay: eventsDelay}
	if s.settings.Witness != (attribution.Place{}) {
		s.ring = &attribution.Ring{Hasher: h, Objects: s}
		out.Writes = s.ring
	}
	if j != nil {
		out.Journal = recentEntries{j}
	}
	return out
}

// SetController sets whose objects the reviews are about.
func (s *Sight) SetController(c *controller.Controller) { s.controller = c }

// OnKindsChanged notes that other kinds are in use.
func (s *Sight) OnKindsChanged() {
	select {
	case s.used <- struct{}{}:
	default:
	}
}

// Run receives reviews until the context ends. Without a place for them it only removes what an earlier process has left.
func (s *Sight) Run(ctx context.Context) error {
	home := s.settings.Namespaces.Home(s.cluster.Namespace())
	name := "truce-witness-" + home
	if s.settings.Witness == (attribution.Place{}) {
		if err := RemoveConfiguration(ctx, s.cluster, name); err != nil && ctx.Err() == nil {
			s.settings.Log.Warn("an earlier witness's configuration may be left", "error", err.Error())
		}
		return nil
	}
	err := RunWitness(ctx, Options{
		Cluster: s.cluster, Ring: s.ring, Name: name, Home: home, Place: s.settings.Witness, Kinds: s.controller, Changed: s.used, Log: s.settings.Log,
	})
	if err != nil { // observing blocks nothing
		s.settings.Log.Error("there is no admission witness", "error", err.Error())
	}
	return nil
}

// Manages implements attribution.Objects.
func (s *Sight) Manages(id object.ID) bool { return s.controller.Engine().Manages(id) }

// KindOf implements attribution.Objects for the kinds in use.
func (s *Sight) KindOf(group, resource string) string {
	kinds, _, _ := s.controller.InUse()
	for _, gvk := range kinds {
		r, err := s.cluster.Resource(gvk)
		if err == nil && r.GVR.Group == group && r.GVR.Resource == resource {
			return gvk.Kind
		}
	}
	return ""
}

// recentEntries reads the newest entries about fields.
type recentEntries struct{ journal journal.Journal }

// Entries implements the journal of reconcile.WriterEvidence.
func (r recentEntries) Entries(context.Context) (all []journal.Entry, err error) {
	err = r.journal.Read(journal.Query{Since: time.Now().Add(-pastWithin)}, func(e journal.Entry) bool {
		if e.Path != "" {
			all = append(all, e)
		}
		return true
	})
	return all, err
}
