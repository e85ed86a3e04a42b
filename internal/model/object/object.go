// Package object answers: what is this Kubernetes object called, and what is in it?
//
// In: decoded JSON (maps, slices, strings, booleans, int64, float64, nil).
// Out: an ID that names the object for good, an Object to read it, a Set of many.
// Promise: pure; reading never changes an object; Clone shares nothing with its source.
// Not here: which field is whose (field), reading a cluster (live).
package object

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// Object is one Kubernetes object as plain JSON data. Numbers are int64 or float64, as the API machinery decodes them.
type Object map[string]any

// ID names an object in a cluster for its whole life. It has no version: one object is served at several.
type ID struct {
	Group, Kind, Namespace, Name string
}

// GVK is the type that a manifest names: the API group, its version, and the kind.
type GVK struct {
	Group, Version, Kind string
}

// PartOf is the label of every managed object; its value names the app. It is for searching and proves nothing.
const PartOf = "truce.dev/part-of"

// Format implements fmt.Formatter: with every verb an object is its name, so that no error and no line of a log holds what is in it. What people may see of
// its content is a redact.Shown.
func (o Object) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, o.ShownID().String()) }

// ID returns the object's name in the cluster. Missing parts are empty.
func (o Object) ID() ID {
	gvk := o.GVK()
	return ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.Namespace(), Name: o.Name()}
}

// GVK returns the type that the object declares in apiVersion and kind.
func (o Object) GVK() GVK {
	group, version, ok := strings.Cut(o.APIVersion(), "/")
	if !ok {
		group, version = "", group
	}
	return GVK{Group: group, Version: version, Kind: o.StringAt("kind")}
}

// APIVersion returns the declared apiVersion, such as "apps/v1".
func (o Object) APIVersion() string { return o.StringAt("apiVersion") }

// Name returns metadata.name.
func (o Object) Name() string { return o.StringAt("metadata", "name") }

// Namespace returns metadata.namespace, empty for cluster-scoped objects.
func (o Object) Namespace() string { return o.StringAt("metadata", "namespace") }

// UID returns metadata.uid: empty for objects that no server has seen.
func (o Object) UID() string { return o.StringAt("metadata", "uid") }

// ResourceVersion returns metadata.resourceVersion.
func (o Object) ResourceVersion() string { return o.StringAt("metadata", "resourceVersion") }

// Generation returns metadata.generation, 0 for kinds that have none.
func (o Object) Generation() int64 {
	n, _ := o.At("metadata", "generation").(int64)
	return n
}

// Finalizers returns metadata.finalizers. The caller may change the list.
func (o Object) Finalizers() []string {
	list, _ := o.At("metadata", "finalizers").([]any)
	out := make([]string, 0, len(list))
	for _, f := range list {
		if s, ok := f.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Label returns the value of a label and whether it is there.
func (o Object) Label(key string) (string, bool) { return o.entry("labels", key) }

// Labels returns metadata.labels, which are not nil. The caller may change them.
func (o Object) Labels() map[string]string { return o.texts("labels") }

// Annotations returns metadata.annotations, which are not nil. The caller may change them.
func (o Object) Annotations() map[string]string { return o.texts("annotations") }

func (o Object) texts(place string) map[string]string {
	all, _ := o.At("metadata", place).(map[string]any)
	out := make(map[string]string, len(all))
	for key, v := range all {
		if text, is := v.(string); is {
			out[key] = text
		}
	}
	return out
}

// Annotation returns the value of an annotation and whether it is there.
func (o Object) Annotation(key string) (string, bool) { return o.entry("annotations", key) }

// At returns the value under nested map keys, nil when any of them is absent.
func (o Object) At(keys ...string) any {
	var v any = map[string]any(o)
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

// Metadata returns metadata for writing, made if absent.
func (o Object) Metadata() map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

// Clone returns a deep copy.
func (o Object) Clone() Object {
	if o == nil {
		return nil
	}
	return Object(CloneValue(map[string]any(o)).(map[string]any))
}

// CloneValue returns a deep copy of decoded JSON.
func CloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = CloneValue(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = CloneValue(e)
		}
		return c
	}
	return v
}

// StringAt returns the string at a path of keys; empty where there is none.
func (o Object) StringAt(keys ...string) string {
	s, _ := o.At(keys...).(string)
	return s
}

func (o Object) entry(kind, key string) (string, bool) {
	m, _ := o.At("metadata", kind).(map[string]any)
	s, ok := m[key].(string)
	return s, ok
}

// String prints the ID as people write it: "Deployment.apps shop/web", "Namespace shop".
func (id ID) String() string {
	kind := id.Kind
	if id.Group != "" {
		kind += "." + id.Group
	}
	if id.Namespace == "" {
		return kind + " " + id.Name
	}
	return kind + " " + id.Namespace + "/" + id.Name
}

// ParseID reads what ID.String prints.
func ParseID(text string) (ID, error) {
	kind, name, found := strings.Cut(text, " ")
	if !found || kind == "" || name == "" {
		return ID{}, fmt.Errorf("%q is no kind and name", text)
	}
	var id ID
	id.Kind, id.Group, _ = strings.Cut(kind, ".")
	if namespace, rest, within := strings.Cut(name, "/"); within {
		id.Namespace, id.Name = namespace, rest
	} else {
		id.Name = name
	}
	return id, nil
}

// IsGenerated reports whether the server makes the object's name, another one at each creation (metadata.generateName). Such an object can be
// created, and never be found again.
func (o Object) IsGenerated() bool {
	return o.Name() == "" && o.StringAt("metadata", "generateName") != ""
}

// ShownID is the object's name in messages: that of a generated one is the prefix and a star.
func (o Object) ShownID() ID {
	id := o.ID()
	if o.IsGenerated() {
		id.Name = o.StringAt("metadata", "generateName") + "*"
	}
	return id
}

// Compare orders IDs by namespace, group, kind, name: the order of every list that truce shows.
func (id ID) Compare(other ID) int {
	return cmp.Or(
		cmp.Compare(id.Namespace, other.Namespace),
		cmp.Compare(id.Group, other.Group),
		cmp.Compare(id.Kind, other.Kind),
		cmp.Compare(id.Name, other.Name),
	)
}

// APIVersion returns the "group/version" form of the type.
func (g GVK) APIVersion() string {
	if g.Group == "" {
		return g.Version
	}
	return g.Group + "/" + g.Version
}

// String prints the type as "apps/v1 Deployment".
func (g GVK) String() string { return g.APIVersion() + " " + g.Kind }

// ownGroups are the API groups of Kubernetes itself. The suffix alone does not decide it: gateway.networking.k8s.io is a CRD's.
var ownGroups = map[string]bool{
	"": true, "apps": true, "autoscaling": true, "batch": true, "extensions": true, "policy": true,
	"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "authentication.k8s.io": true,
	"authorization.k8s.io": true, "certificates.k8s.io": true, "coordination.k8s.io": true, "discovery.k8s.io": true,
	"events.k8s.io": true, "flowcontrol.apiserver.k8s.io": true, "internal.apiserver.k8s.io": true, "networking.k8s.io": true,
	"node.k8s.io": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true, "scheduling.k8s.io": true,
	"storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// IsBuiltIn reports whether the API group is one of Kubernetes' own kinds.
func IsBuiltIn(group string) bool { return ownGroups[group] }
