package controller

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/recipe"
)

// maker is a dialect that says which custom resources stand for what a Recipe makes.
type maker interface {
	dialect.Sources
	// MadeArtifact returns the custom resource for one artifact.
	MadeArtifact(cr object.Object, by recipe.Recipe, made recipe.Made) object.Object
}

// writeGenerated writes the ExternalArtifacts of an ArtifactGenerator as they are to be, and deletes those of it that it no longer names.
func (c *Controller) writeGenerated(ctx context.Context, cr object.Object, s dialect.Source, result recipe.Result) error {
	f, _ := c.sourceResource(s.Key)
	by, ok := f.(maker)
	if !ok {
		return nil
	}
	for _, made := range result.Made {
		if err := c.writeMade(ctx, s, by.MadeArtifact(cr, *s.Recipe, made)); err != nil {
			return generateError(s, source.ReconcileFailed, "write ExternalArtifact %s/%s: %w", s.Key.Namespace, made.Name, err)
		}
	}
	for _, gone := range c.leftGenerated(s, result) {
		if err := c.deleteMade(ctx, gone); err != nil {
			return generateError(s, source.ReconcileFailed, "delete ExternalArtifact %s/%s: %w", gone.Namespace(), gone.Name(), err)
		}
	}
	return nil
}

// writeMade creates or updates one ExternalArtifact, unless it is as it should be. One of another maker is left alone.
func (c *Controller) writeMade(ctx context.Context, s dialect.Source, want object.Object) error {
	c.mu.RLock()
	e := c.sourceSet[app.SourceKey{Kind: want.GVK().Kind, Namespace: want.Namespace(), Name: want.Name()}]
	var there object.Object
	var ours bool
	if e != nil && e.cr != nil {
		there, ours = e.cr, isMadeBy(e, s)
	}
	c.mu.RUnlock()
	options := metav1.PatchOptions{FieldManager: statusManager}
	if there != nil {
		if !ours {
			return fmt.Errorf("there is one already that %s has not made: give the artifact another name, or delete it", s.Key)
		}
		if isAsWanted(there, want) {
			return nil
		}
		force := true
		options.Force = &force
		about, _ := want["metadata"].(map[string]any)
		about["uid"], about["resourceVersion"] = there.UID(), there.ResourceVersion()
	}
	body, err := json.Marshal(want)
	if err != nil {
		return err
	}
	r, err := c.resource(want.GVK(), want.Namespace())
	if err != nil {
		return err
	}
	_, err = r.Patch(ctx, want.Name(), types.ApplyPatchType, body, options)
	return err
}

// isMadeBy reports whether a custom resource is one that an ArtifactGenerator makes, by name and uid.
func isMadeBy(e *sourceEntry, s dialect.Source) bool {
	of := e.front.Source(e.cr)
	return of.Maker == s.Key && of.MakerUID == s.UID && s.UID != ""
}

const artifactGenerator = "ArtifactGenerator"

// isAsWanted reports whether an object has the labels, annotations, owner and spec that it is to have, and no others.
func isAsWanted(there, want object.Object) bool {
	for _, at := range []string{"labels", "annotations"} {
		had, _ := there.At("metadata", at).(map[string]any)
		wanted, _ := want.At("metadata", at).(map[string]any)
		if len(had) != len(wanted) || len(wanted) > 0 && !field.EqualValues(had, wanted) {
			return false
		}
	}
	return isOwnedBy(there, ownerUID(want)) && field.EqualValues(there["spec"], want["spec"])
}

func ownerUID(o object.Object) string {
	list, _ := o.At("metadata", "ownerReferences").([]any)
	for _, v := range list {
		if m, _ := v.(map[string]any); m["controller"] == true {
			return object.Object(m).StringAt("uid")
		}
	}
	return ""
}

func isOwnedBy(o object.Object, uid string) bool { return uid != "" && ownerUID(o) == uid }

// leftGenerated are the ExternalArtifacts of an ArtifactGenerator that it does not name any more: those that its uid owns.
func (c *Controller) leftGenerated(s dialect.Source, result recipe.Result) []object.Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []object.Object
	for key, e := range c.sourceSet {
		if e.from != s.Key || e.cr == nil || e.cr.At("metadata", "deletionTimestamp") != nil {
			continue
		}
		if _, named := result.Named(key.Name); !named && isMadeBy(e, s) && isOwnedBy(e.cr, s.UID) {
			out = append(out, e.cr)
		}
	}
	return out
}

// deleteMade deletes one ExternalArtifact, if it is the one that was seen.
func (c *Controller) deleteMade(ctx context.Context, gone object.Object) error {
	r, err := c.resource(gone.GVK(), gone.Namespace())
	if err != nil {
		return err
	}
	uid, version := types.UID(gone.UID()), gone.ResourceVersion()
	err = r.Delete(ctx, gone.Name(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// asksAgain reports whether a custom resource asks for another look than before.
func asksAgain(before, now dialect.Source) bool {
	if before.Generation != now.Generation || before.Request != now.Request {
		return true
	}
	return now.Recipe != nil && (before.Suspended != now.Suspended || before.Other != now.Other)
}

func generatedMode(cr object.Object) string { mode, _ := cr.Annotation(modeKey); return mode }

// sameMetadata reports whether what a maker writes of an object is as it was.
func sameMetadata(a, b object.Object) bool {
	for _, at := range []string{"labels", "annotations", "ownerReferences"} {
		if !field.EqualValues(a.At("metadata", at), b.At("metadata", at)) {
			return false
		}
	}
	return a.Generation() == b.Generation() && a.UID() == b.UID()
}
