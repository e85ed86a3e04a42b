package compose

import (
	"context"
	"log/slog"
	"time"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/events"
	"github.com/truce-gitops/truce/internal/controller/witness"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// pastWithin is how far back a journal is read for who wrote what is live.
const pastWithin = 24 * time.Hour

// eventsDelay is how long after a change its Events are read: the HPA controller writes them some milliseconds later.
const eventsDelay = 3 * time.Second

// sight is how a controller sees who writes.
type sight struct {
	parts      *parts
	controller *controller.Controller // set before it runs
	ring       *attribution.Ring      // nil without an admission witness
	used       chan struct{}
	home       string // the namespace that distinguishes this instance from others in the cluster
	log        *slog.Logger
}

func (s *sight) witnesses(at attribution.Place) reconcile.WriterEvidence {
	out := reconcile.WriterEvidence{Events: events.NewReader(s.parts.cluster), Delay: eventsDelay}
	if at != (attribution.Place{}) {
		s.ring = &attribution.Ring{Hasher: s.parts.engine.Hasher, Objects: s}
		out.Writes = s.ring
	}
	if s.parts.journal != nil {
		out.Journal = recentEntries{s.parts.journal}
	}
	return out
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

// Manages implements attribution.Objects.
func (s *sight) Manages(id object.ID) bool { return s.controller.Engine().Manages(id) }

// KindOf implements attribution.Objects for the kinds in use.
func (s *sight) KindOf(group, resource string) string {
	kinds, _, _ := s.controller.InUse()
	for _, gvk := range kinds {
		r, err := s.parts.cluster.Resource(gvk)
		if err == nil && r.GVR.Group == group && r.GVR.Resource == resource {
			return gvk.Kind
		}
	}
	return ""
}

// run is what hears of writes.
func (s *sight) run(at attribution.Place) func(context.Context) error {
	name := "truce-witness-" + s.home
	if at == (attribution.Place{}) {
		return func(ctx context.Context) error {
			if err := witness.RemoveConfiguration(ctx, s.parts.cluster, name); err != nil && ctx.Err() == nil {
				s.log.Warn("an earlier witness's configuration may be left", "error", err.Error())
			}
			return nil
		}
	}
	return func(ctx context.Context) error {
		err := witness.RunWitness(ctx, witness.Options{
			Cluster: s.parts.cluster, Ring: s.ring, Name: name, Home: s.home, Place: at, InUse: s.controller.InUse, Changed: s.used, Log: s.log, Now: time.Now,
		})
		if err != nil { // observing blocks nothing
			s.log.Error("there is no admission witness", "error", err.Error())
		}
		return nil
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
