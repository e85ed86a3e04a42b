// Package desired answers: exactly which objects does Git want, and in which order?
//
// In: rendered objects, the app that asked for them, and how the server scopes each kind.
// Out: a Set: sanitised, marked, named objects in waves, each with the file and line that describe it.
// Promise: pure; the same render gives the same Set; two documents never silently describe one object.
// Not here: rendering (render), asking the server about scopes (cluster), what is live (live).
package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

// Object is one object as truce will send it.
type Object struct {
	ID   object.ID
	GVK  object.GVK
	Data object.Object
	File string // in the source
	Line int    // where in File its document begins
	Wave int    // lower waves come first
	// Digest is over all that is sent, for finding a change in Git. It is empty for Secrets: a digest of a guessable value would reveal it.
	Digest string
}

// Set is what one revision wants of one app, in wave order, then by ID.
type Set struct {
	Objects []Object
	// Aside are described too, and left out: they bear one of app.Aside. Unheeded bear one of app.Unheeded.
	Aside, Unheeded []object.ID
	// Nameless are described too, and left out: they have generateName and no name.
	Nameless []render.Object
}

// Scope says whether a kind lives in namespaces.
type Scope string

// The scopes. A kind that the server does not know yet may still come with a CRD of the same revision.
const (
	Namespaced  Scope = "Namespaced"
	ClusterWide Scope = "Cluster"
	Unserved    Scope = "Unserved"
)

// PartOf is the label that every object of ours bears.
const PartOf = object.PartOf

// Normalize makes the Set of one app. It fails where two documents describe one object.
func Normalize(rendered []render.Object, a app.App, scope func(object.GVK) Scope) (Set, error) {
	crds := scopesOf(rendered)
	seen := map[object.ID]render.Object{}
	var s Set
	for _, r := range rendered {
		if hasAnyAnnotation(r.Data, a.Aside) {
			s.Aside = append(s.Aside, r.Data.ShownID())
			continue
		}
		if r.Data.IsGenerated() {
			s.Nameless = append(s.Nameless, r)
			continue
		}
		if hasAnyAnnotation(r.Data, a.Unheeded) {
			s.Unheeded = append(s.Unheeded, r.Data.ID())
		}
		o := normalizeObject(r, a, scopeOf(r.Data.GVK(), crds, scope))
		if first, ok := seen[o.ID]; ok {
			return Set{}, fmt.Errorf("%s is described twice: %s:%d and %s:%d", o.ID, first.File, first.Line, r.File, r.Line)
		}
		seen[o.ID] = r
		s.Objects = append(s.Objects, o)
	}
	slices.SortFunc(s.Objects, func(a, b Object) int { return cmp.Or(cmp.Compare(a.Wave, b.Wave), a.ID.Compare(b.ID)) })
	return s, nil
}

func hasAnyAnnotation(o object.Object, annotations []string) bool {
	return slices.ContainsFunc(annotations, func(key string) bool { _, ok := o.Annotation(key); return ok })
}

func normalizeObject(r render.Object, a app.App, scope Scope) Object {
	data := Sanitise(r.Data)
	meta := data.Metadata()
	switch {
	case scope == ClusterWide:
		delete(meta, "namespace")
	case scope == Namespaced && data.Namespace() == "":
		meta["namespace"] = cmp.Or(a.Namespace, a.DefaultNamespace.Name, "default") // as kubectl does
	}
	addMetadata(meta, a.Overlay.Metadata)
	addMarks(data, a)
	o := Object{ID: data.ID(), GVK: data.GVK(), Data: data, File: r.File, Line: r.Line, Wave: WaveOfKind(data.GVK())}
	if o.GVK.Group != "" || o.GVK.Kind != "Secret" {
		o.Digest = ObjectDigest(data)
	}
	return o
}

// addMarks adds the labels by which the object is found: the dialect's, and ours where truce writes it.
func addMarks(data object.Object, a app.App) {
	more := maps.Clone(a.Labels)
	if a.Policy.Mode != app.Observe {
		if more == nil {
			more = map[string]string{}
		}
		more[PartOf] = PartOfValue(a.Key)
	}
	if len(more) == 0 {
		return
	}
	meta := data.Metadata()
	labels, ok := meta["labels"].(map[string]any)
	if !ok {
		labels = map[string]any{}
		meta["labels"] = labels
	}
	for k, v := range more {
		labels[k] = v
	}
}

// maxLabel is the longest label value that Kubernetes takes.
const maxLabel = 63

// silentKind is the kind of app whose marks do not name it: they were put on objects before there was another kind.
const silentKind = "Kustomization"

// PartOfValue returns the label value that the objects of an app bear: readable, and cut to a hash where it would be too long. Behind an
// underscore, which no name can hold, stands the app's kind: apps of two kinds may have one name.
func PartOfValue(key app.Key) string {
	s, kind := key.Namespace+"."+key.Name, ""
	if key.Kind != silentKind {
		kind = "_" + key.Kind
	}
	sum := sha256.Sum256([]byte(key.Kind + "/" + s))
	if len(s)+len(kind) <= maxLabel {
		return s + kind
	}
	return s[:maxLabel-9-len(kind)] + "-" + hex.EncodeToString(sum[:4]) + kind
}

// ObjectDigest returns a hash of the object that is the same in every process.
func ObjectDigest(o object.Object) string {
	text, err := json.Marshal(o) // keys in order; decoded JSON always encodes
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Data returns the objects without what surrounds them.
func (s Set) Data() []object.Object {
	out := make([]object.Object, len(s.Objects))
	for i, o := range s.Objects {
		out[i] = o.Data
	}
	return out
}

func scopeOf(gvk object.GVK, crds map[object.GVK]Scope, scope func(object.GVK) Scope) Scope {
	if s := scope(gvk); s != Unserved {
		return s
	}
	gvk.Version = ""
	if s, ok := crds[gvk]; ok {
		return s
	}
	return Unserved
}

// scopesOf reads the scopes of kinds that the revision itself defines.
func scopesOf(rendered []render.Object) map[object.GVK]Scope {
	out := map[object.GVK]Scope{}
	for _, r := range rendered {
		if !isCustomResourceDefinition(r.Data.GVK()) {
			continue
		}
		group, _ := r.Data.At("spec", "group").(string)
		kind, _ := r.Data.At("spec", "names", "kind").(string)
		scope, _ := r.Data.At("spec", "scope").(string)
		out[object.GVK{Group: group, Kind: kind}] = Scope(scope)
	}
	return out
}

func isCustomResourceDefinition(gvk object.GVK) bool {
	return gvk.Group == "apiextensions.k8s.io" && gvk.Kind == "CustomResourceDefinition"
}
