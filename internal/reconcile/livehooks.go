package reconcile

import (
	"context"
	"errors"
	"slices"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// observeHooks reads what the hooks of this operation and of those before it have left, and what could not be applied: no watch shows their images. For the
// hooks an operation, a request and the first run of a process look; in between the report stays as it is, also where an object cannot be read.
func (r *appRun) observeHooks(ctx context.Context) {
	if len(r.app.Aside) == 0 || r.app.Policy.Mode == policy.Observe || r.access.Live == nil || r.engine.Version == nil {
		return
	}
	if r.purpose == rollingOut || r.requested || r.report.Hooks == nil {
		if left, err := r.readRanHooks(ctx); err == nil {
			r.report.Hooks, r.report.LiveImages = left.there, left.images
			r.forgetLeft(ctx, left.gone)
		}
	}
	images := slices.DeleteFunc(slices.Clone(r.report.LiveImages), func(c overlay.Container) bool {
		return !slices.ContainsFunc(r.report.Hooks, func(h report.Object) bool { return h.ID == c.ID })
	})
	r.report.LiveImages = append(images, r.unappliedImages(ctx)...)
}

// ranObjects are what hooks have left.
type ranObjects struct {
	there  []report.Object // that are still the app's, never nil
	images []overlay.Container
	gone   map[string]bool // which there is none of any more
}

// readRanHooks reads the objects of hooks.
func (r *appRun) readRanHooks(ctx context.Context) (ranObjects, error) {
	out := ranObjects{there: []report.Object{}, gone: map[string]bool{}}
	ran := slices.DeleteFunc(ranHooks(r.inventory.Operation), r.isRecorded)
	if len(ran) == 0 {
		return out, nil
	}
	served, err := r.engine.Version.Capabilities(ctx)
	if err != nil {
		return out, err
	}
	kinds, found, errs := make([]object.GVK, len(ran)), make([]object.Object, len(ran)), make([]error, len(ran))
	r.engine.eachAtOnce(len(ran), func(i int) {
		known := false
		if kinds[i], known, errs[i] = servedAs(ran[i], served); known {
			found[i], errs[i] = r.access.Live.Get(ctx, kinds[i], ran[i])
		}
	})
	for i, id := range ran {
		switch err, now := errs[i], found[i]; {
		case errors.Is(err, live.ErrNotFound):
			out.gone[id.String()] = true
		case errors.Is(err, live.ErrUnknownKind):
		case err != nil:
			return out, err
		case now != nil && isHookOf(r.app, now) && hasSyncMark(now):
			out.there = append(out.there, report.Object{ID: id, Version: kinds[i].Version, Wave: optout.PlaceOf(now, r.app.Waves)})
			out.images = append(out.images, imagesOf(kinds[i], now)...)
		}
	}
	return out, nil
}

// forgetLeft takes what is gone out of what the record says that the hooks of earlier operations have left, so that no run reads it again. Only a run that
// has come to its end has the newest record.
func (r *appRun) forgetLeft(ctx context.Context, gone map[string]bool) {
	next := r.inventory
	next.Operation.Left = slices.DeleteFunc(slices.Clone(next.Operation.Left), func(id string) bool { return gone[id] })
	if len(next.Operation.Left) == len(r.inventory.Operation.Left) || r.at != report.Observe || r.app.Policy.Mode != policy.Enforce || next.Unverified != "" {
		return
	}
	r.inventory = next
	if err := r.deferInventory(ctx, next); err != nil {
		r.report.Notes = append(r.report.Notes, "what its hooks have left could not be recorded: "+r.redacted(err.Error()))
	}
}

func hasSyncMark(o object.Object) bool {
	return slices.ContainsFunc(syncMarks, func(key string) bool { _, has := o.Annotation(key); return has })
}

// mostUnapplied bounds how many objects are read that could not be applied.
const mostUnapplied = 20

// unappliedImages are the images of the objects that could not be applied, as the cluster has them.
func (r *appRun) unappliedImages(ctx context.Context) (out []overlay.Container) {
	left := mostUnapplied
	for _, id := range r.state.objects() {
		rec := r.engine.lookup(id)
		if rec == nil || left == 0 {
			continue
		}
		o := rec.view()
		if o.Problem == "" || o.UID == "" {
			continue
		}
		left--
		gvk := object.GVK{Group: id.Group, Version: o.Version, Kind: id.Kind}
		if now, err := r.access.Live.Get(ctx, gvk, id); err == nil {
			out = append(out, imagesOf(gvk, now)...)
		}
	}
	return out
}

func imagesOf(gvk object.GVK, now object.Object) []overlay.Container {
	set := desired.Set{Objects: []desired.Object{{ID: now.ID(), GVK: gvk, Data: now}}}
	return set.Images()
}
