package witness

import (
	"context"
	"time"

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
	options Options
	objects Managed
	kinds   Kinds
	ring    *attribution.Ring // nil without a place
	used    chan struct{}     // has something when kinds in use have changed
}

// Managed knows the objects that the reviews are about. It may be called concurrently, and does not block.
type Managed interface {
	// Manages reports whether an app has the object.
	Manages(id object.ID) bool
}

// NewSight returns a Sight. Its methods are used in the order Evidence, SetObjects, Run.
func NewSight(o Options) *Sight { return &Sight{options: o, used: make(chan struct{}, 1)} }

// Evidence returns what an engine asks; j is nil where no journal is kept.
func (s *Sight) Evidence(h ownership.Hasher, j journal.Journal) reconcile.WriterEvidence {
	out := reconcile.WriterEvidence{Events: events.NewReader(s.options.Cluster), Delay: eventsDelay}
	if s.options.Place != (attribution.Place{}) {
		s.ring = &attribution.Ring{Hasher: h, Objects: s}
		out.Writes = s.ring
	}
	if j != nil {
		out.Journal = recentEntries{j}
	}
	return out
}

// SetObjects sets which objects the reviews are about, and which kinds are in use.
func (s *Sight) SetObjects(m Managed, k Kinds) { s.objects, s.kinds = m, k }

// OnKindsChanged notes that other kinds are in use.
func (s *Sight) OnKindsChanged() {
	select {
	case s.used <- struct{}{}:
	default:
	}
}

// Run receives reviews until the context ends. Without a place for them it only removes what an earlier process has left.
func (s *Sight) Run(ctx context.Context) error {
	if s.options.Place == (attribution.Place{}) {
		if err := removeConfiguration(ctx, s.options.Cluster, s.options.configuration()); err != nil && ctx.Err() == nil {
			s.options.Log.Warn("an earlier witness's configuration may be left", "error", err.Error())
		}
		return nil
	}
	if err := s.receive(ctx); err != nil { // observing blocks nothing
		s.options.Log.Error("there is no admission witness", "error", err.Error())
	}
	return nil
}

// Manages implements attribution.Objects.
func (s *Sight) Manages(id object.ID) bool { return s.objects.Manages(id) }

// KindOf implements attribution.Objects for the kinds in use.
func (s *Sight) KindOf(group, resource string) string {
	kinds, _, _ := s.kinds.InUse()
	for _, gvk := range kinds {
		r, err := s.options.Cluster.Resource(gvk)
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
