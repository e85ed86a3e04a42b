package controller

import (
	"crypto/sha256"
	"encoding/json"
	"maps"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// packResource packs an app's custom resource: its status names all of the app's objects once more. Nothing reads its managedFields.
func (c *Controller) packResource(gvk object.GVK, cr object.Object) (object.Packed, error) {
	lean, meta := maps.Clone(cr), maps.Clone(cr.Metadata())
	delete(meta, "managedFields")
	lean["metadata"] = meta
	text, err := json.Marshal(lean)
	if err != nil {
		return object.Packed{}, err
	}
	return c.texts.Pack(gvk, text), nil
}

// withResource is an entry with its custom resource as it was kept.
func (c *Controller) withResource(e appEntry) appEntry {
	text, err := c.texts.Text(e.kept)
	if err == nil {
		err = kjson.Unmarshal(text, (*map[string]any)(&e.cr))
	}
	if err != nil { // what keep has packed comes back
		c.Log.Error("unpack", "app", e.app.Key.String(), "error", err.Error())
	}
	return e
}

// request is what a user asks for by a custom resource.
type request struct {
	uid               string
	spec, annotations digest
	deleting          bool
	held              digest // by which finalizers, once it is being deleted
}

// requestOf distinguishes what a user wrote from what came of it: a status or a finalizer asks for nothing, unless a deletion waits for it, and neither does it that a
// request is taken off (answered). The generation does not show it: where the status is no subresource, it counts our own writes.
func requestOf(cr object.Object, answered []field.Pointer) request {
	all, _ := cr.At("metadata", "annotations").(map[string]any)
	annotations := maps.Clone(all)
	for _, p := range answered {
		if len(p) == 3 && p[1] == "annotations" {
			delete(annotations, p[2])
		}
	}
	r := request{
		uid: cr.UID(), spec: sha256.Sum256([]byte(fingerprintOf(cr["spec"]))), annotations: sha256.Sum256([]byte(fingerprintOf(annotations))),
		deleting: cr.At("metadata", "deletionTimestamp") != nil,
	}
	if r.deleting {
		r.held = sha256.Sum256([]byte(fingerprintOf(cr.At("metadata", "finalizers"))))
	}
	return r
}
