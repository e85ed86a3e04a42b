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
	if r.isRollout || r.requested || r.report.Hooks == nil {
		if found, images, err := r.readRanHooks(ctx); err == nil {
			r.report.Hooks, r.report.LiveImages = found, images
		}
	}
	images := slices.DeleteFunc(slices.Clone(r.report.LiveImages), func(c overlay.Container) bool {
		return !slices.ContainsFunc(r.report.Hooks, func(h report.Object) bool { return h.ID == c.ID })
	})
	r.report.LiveImages = append(images, r.unappliedImages(ctx)...)
}

// readRanHooks returns the objects of hooks that are there and still the app's, never nil, and their images.
func (r *appRun) readRanHooks(ctx context.Context) ([]report.Object, []overlay.Container, error) {
	found, images := []report.Object{}, []overlay.Container(nil)
	ran := slices.DeleteFunc(ranHooks(r.inventory.Operation), r.isRecorded)
	if len(ran) == 0 {
		return found, nil, nil
	}
	served, err := r.engine.Version.Capabilities(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ran {
		gvk, known, err := servedAs(id, served)
		if err != nil {
			return nil, nil, err
		}
		if !known {
			continue
		}
		now, err := r.access.Live.Get(ctx, gvk, id)
		switch {
		case errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind):
		case err != nil:
			return nil, nil, err
		case isHookOf(r.app, now) && hasSyncMark(now):
			found = append(found, report.Object{ID: id, Version: gvk.Version, Wave: optout.PlaceOf(now, r.app.Waves)})
			images = append(images, imagesOf(gvk, now)...)
		}
	}
	return found, images, nil
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
