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
	"fmt"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
)

// Object is one object as truce will send it.
type Object struct {
	ID   object.ID
	GVK  object.GVK
	Data object.Object
	File string // in the source
	Line int    // where in File its document begins
	// SyncWave is that which the object names: in an operation lower ones come first, and are healthy before the next.
	SyncWave int
	Wave     int // of its kind: lower ones come first within a sync wave
	// Digest is over all that is sent, for finding a change in Git. It is empty for Secrets, and for what holds a Secret's values: a digest of
	// a guessable value would reveal it.
	Digest string
	// Sensitive are its fields that hold what came from a Secret.
	Sensitive redact.Sensitive
	// Definition is that of render.Object.
	Definition bool
}

// Set is what one revision wants of one app, by sync wave, by the wave of their kinds, then by ID.
type Set struct {
	Objects []Object
	// Hooks are described too, and left out: they bear one of app.Aside.
	Hooks []Hook
	// Skipped are described too, and ask never to be applied. They have no Data.
	Skipped []Object
	// Repeated says which objects are described several times. Of these the last one counts.
	Repeated []string
	// Nameless are described too, and left out: they have generateName and no name.
	Nameless []render.Object
	// Homeless are described too, and left out: their kind lives in namespaces, and neither they nor the app name one.
	Homeless []render.Object
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
		if at, aside := a.Aside.Of(r.Data); aside {
			s.putAside(r, a, at, scopeOf(r.Data.GVK(), crds, scope))
			continue
		}
		if r.Data.IsGenerated() {
			s.Nameless = append(s.Nameless, r)
			continue
		}
		where := scopeOf(r.Data.GVK(), crds, scope)
		o := normalizeObject(r, a, where)
		if where == Namespaced && o.ID.Namespace == "" {
			s.Homeless = append(s.Homeless, r)
			continue
		}
		first, twice := seen[o.ID]
		sameSource := a.PartOf(first.File) == a.PartOf(r.File)
		if twice && sameSource && !a.LastCounts {
			return Set{}, fmt.Errorf("%s is described twice: %s:%d and %s:%d", o.ID, first.File, first.Line, r.File, r.Line)
		}
		if twice {
			s.replace(o)
			by := map[bool]string{true: "twice", false: "by several sources"}[sameSource]
			s.Repeated = append(s.Repeated, fmt.Sprintf("%s is described %s: %s:%d counts, and %s:%d does not", o.ID, by, r.File, r.Line, first.File, first.Line))
		} else {
			s.Objects = append(s.Objects, o)
		}
		seen[o.ID] = r
	}
	s.Sort()
	return s, nil
}

// replace puts an object in the place of the one with its ID.
func (s *Set) replace(o Object) {
	i := slices.IndexFunc(s.Objects, func(had Object) bool { return had.ID == o.ID })
	s.Objects[i] = o
}

func normalizeObject(r render.Object, a app.App, scope Scope) Object {
	data := inNamespace(r, a, scope)
	addMarks(data, a)
	o := Object{ID: data.ID(), GVK: data.GVK(), Data: data, File: r.File, Line: r.Line, Definition: r.Definition, Wave: WaveOfKind(data.GVK())}
	o.SyncWave = optout.PlaceOf(r.Data, a.Waves)
	o.Sensitive.Fields = r.Sensitive
	o.setDigest()
	return o
}

// setDigest sets the digest of an object that may have one.
func (o *Object) setDigest() {
	if !redact.IsSecret(o.ID) && o.Sensitive.IsZero() {
		o.Digest = ObjectDigest(o.Data)
	}
}

// inNamespace is an object as the app asks for it, in the namespace that it goes to.
func inNamespace(r render.Object, a app.App, scope Scope) object.Object {
	data := Sanitise(r.Data)
	meta := data.Metadata()
	switch {
	case scope == ClusterWide:
		delete(meta, "namespace")
	case data.Namespace() == "" && (scope == Namespaced || a.Key != (app.Key{})): // most kinds of an app that are not served yet will have namespaces, too
		if to := cmp.Or(a.Namespace, a.DefaultNamespace.Name); to != "" {
			meta["namespace"] = to
		}
	}
	addMetadata(meta, a.Overlay.Metadata)
	return data
}

// addMarks adds the labels by which the object is found: the dialect's, and ours where truce writes it.
func addMarks(data object.Object, a app.App) {
	more := maps.Clone(a.Labels)
	if a.Policy.Mode != policy.Observe {
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
	text, err := o.JSON() // keys in order; decoded JSON always encodes
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// KnowSecrets has the values hidden in what is reported about the objects that hold some of them; nil for none.
func (s Set) KnowSecrets(known *redact.Known) {
	for i := range s.Objects {
		s.Objects[i].know(known)
	}
	for i := range s.Hooks {
		s.Hooks[i].know(known)
	}
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
