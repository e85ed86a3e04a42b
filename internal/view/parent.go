package view

import (
	"context"
	"errors"
	"fmt"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// examine holds a change against what it will meet: rules against the app's objects, and the custom resource's own parent.
func (c *Cluster) examine(ctx context.Context, e Edit, out *EditResult) error {
	if len(e.Change.Ignore) > 0 || e.Given.App != nil {
		if err := c.checkRules(ctx, e, out); err != nil {
			return err
		}
	}
	c.others(ctx, e, out)
	if out.Before.App == nil || e.Change.Run != nil && e.Change.Pin == nil {
		return nil
	}
	out.Parent = dialect.ParentOf(out.Before.App, c.known(ctx))
	if out.Parent.Key == e.App {
		out.Parent = dialect.Parent{}
	}
	if out.Parent.String() == "" {
		return nil
	}
	out.Overruled = overruled(out.Before.App, out.After.App, out.Parent.By)
	at := changedField(out.Before.App, out.After.App)
	if e.How == Delete {
		at = field.NewPath("kind") // where all of it stands
	}
	place, err := c.describedAt(ctx, out.Parent.Key, out.Before.App.ID(), at)
	if err == nil {
		out.Place = place
	}
	return nil // a missing file is no error here: the parent's own status says why
}

// others says which apps a change of a shared source is about, too.
func (c *Cluster) others(ctx context.Context, e Edit, out *EditResult) {
	if out.Before.Source == nil || reflect.DeepEqual(out.Before.Source, out.After.Source) {
		return
	}
	var also []string
	for gvk, translate := range registry.AppDialects() {
		all, err := c.engine.Live.List(ctx, live.Interest{GVK: gvk})
		if err != nil {
			continue // without permission to list apps everywhere they are not known
		}
		for _, o := range all {
			a := translate.App(o, policy.Policy{})
			s := out.Before.Source
			if a.Key != e.App && sourceCustomResource(a.Source) == (app.Key{Kind: s.GVK().Kind, Namespace: s.Namespace(), Name: s.Name()}) {
				also = append(also, a.Key.String())
			}
		}
	}
	if len(also) > 0 {
		slices.Sort(also)
		out.Notes = append(out.Notes, fmt.Sprintf("%s is changed, which %s read, too", displayName(out.Before.Source), strings.Join(also, ", ")))
	}
}

// overruled reports whether a parent's manager owns a field that was changed.
func overruled(before, after object.Object, manager string) bool {
	owners, err := ownership.Entries(before)
	if manager == "" || err != nil {
		return false
	}
	for _, entry := range owners {
		if entry.Manager != manager || entry.Subresource != "" {
			continue
		}
		for _, p := range entry.Fields.Paths() {
			was, _ := field.ValueAt(before, p)
			is, _ := field.ValueAt(after, p)
			if entry.Fields.Leaf(p) && !reflect.DeepEqual(was, is) {
				return true
			}
		}
	}
	return false
}

var errElsewhere = errors.New("no app of this cluster")

// describedAt finds where a parent's source gives a field of a custom resource its value, or else describes the custom resource.
func (c *Cluster) describedAt(ctx context.Context, parent app.Key, id object.ID, path field.Path) (desired.Place, error) {
	_, translate, err := registry.AppsFor(parent)
	if err != nil || parent.Namespace == "" {
		return desired.Place{}, errElsewhere
	}
	r, err := c.read(ctx, parent)
	if err != nil {
		return desired.Place{}, err
	}
	a := translate.App(r.App, policy.Policy{})
	set, artifact, err := c.described(ctx, a, r.App)
	if err != nil {
		return desired.Place{}, err
	}
	for _, o := range set.Objects {
		if o.ID != id {
			continue
		}
		if p := desired.FieldOrigin(artifact.Files, a.AtRevision(artifact.Commit, artifact.Files).OfFile(o.File), o, path); p.Known() {
			return p, nil
		}
		return desired.Place{File: o.File, Line: o.Line}, nil
	}
	return desired.Place{}, errElsewhere
}

// changedField is the first field of the spec that was changed.
func changedField(before, after object.Object) field.Path {
	was, _ := before["spec"].(map[string]any)
	is, _ := after["spec"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if !reflect.DeepEqual(was[key], is[key]) {
			return field.NewPath("spec", key)
		}
	}
	return field.NewPath("spec")
}
