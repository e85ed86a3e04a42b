package attribution

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// The operations of admission (admission.k8s.io/v1).
const (
	created = "CREATE"
	updated = "UPDATE"
	deleted = "DELETE"
)

// review is the part of an AdmissionReview (admission.k8s.io/v1) that is read.
type review struct {
	Request struct {
		Kind        struct{ Group, Version, Kind string }
		Name        string
		Namespace   string
		Operation   string
		SubResource string
		Resource    struct{ Group, Version, Resource string }
		DryRun      bool
		UserInfo    struct {
			Username string
			Groups   []string
		}
		Options   struct{ FieldManager string }
		Object    json.RawMessage
		OldObject json.RawMessage
	}
}

// ErrNoWrite is what a review says that changes nothing anyone asks about: a dry run, a status, a write of the same again.
var ErrNoWrite = errors.New("nothing was written")

// ReadReview makes a Record of an AdmissionReview. Kinds returns the kind of a resource, for reviews of the subresource scale, which name it
// only by its plural. The time is the caller's to set.
func ReadReview(body []byte, h ownership.Hasher, kinds func(group, resource string) string) (Record, error) {
	var in review
	if err := json.Unmarshal(body, &in); err != nil {
		return Record{}, fmt.Errorf("read an admission review: %w", err)
	}
	q := in.Request
	if q.DryRun || q.SubResource != "" && q.SubResource != "scale" && q.SubResource != "status" {
		return Record{}, ErrNoWrite
	}
	now, err := decodeObject(q.Object)
	if err != nil {
		return Record{}, err
	}
	before, err := decodeObject(q.OldObject)
	if err != nil {
		return Record{}, err
	}
	r := Record{
		User: q.UserInfo.Username, Groups: q.UserInfo.Groups, Manager: q.Options.FieldManager,
		Operation: q.Operation, Subresource: q.SubResource,
		Object: object.ID{Group: q.Kind.Group, Kind: q.Kind.Kind, Namespace: q.Namespace, Name: q.Name},
	}
	either := now
	if either == nil {
		either = before
	}
	r.UID = either.UID()
	if r.Object.Name == "" { // a deletion of a whole collection
		r.Object.Name = either.Name()
	}
	if r.Subresource == "scale" {
		r.Object.Group, r.Object.Kind = q.Resource.Group, kinds(q.Resource.Group, q.Resource.Resource)
	}
	if r.Operation != updated {
		return r, nil
	}
	if r.Changes, err = changes(r, before, now, h); err == nil && len(r.Changes) == 0 {
		err = ErrNoWrite
	}
	return r, err
}

func decodeObject(text []byte) (object.Object, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var o map[string]any
	if err := utiljson.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("read an admission review: %w", err)
	}
	return o, nil
}

// changes lists what an update changed of what Git may name.
func changes(r Record, before, now object.Object, h ownership.Hasher) ([]Change, error) {
	if r.Subresource == "scale" {
		return scaleChanges(before, now, h), nil
	}
	owners, err := ownership.Entries(now)
	if err != nil {
		return nil, err
	}
	earlier, err := ownership.Entries(before)
	if err != nil {
		return nil, err
	}
	secret := redact.IsSecret(r.Object)
	wrote := writers(r, earlier, owners)
	var out []Change
	seen := map[string]bool{}
	all := slices.Concat(owners, earlier)
	before, now = withoutStatus(before), withoutStatus(now)
	for _, p := range slices.Concat(ownership.FieldsOf(map[string]any(now), nil, all), ownership.FieldsOf(map[string]any(before), nil, all)) {
		name := field.PathString(p)
		was, had := field.ValueAt(before, p)
		is, has := field.ValueAt(now, p)
		if seen[name] || had && has && (isListItem(p) || field.EqualValues(was, is)) {
			continue
		}
		seen[name] = true
		c := Change{Path: name, Hidden: secret}
		if !secret && has {
			c.To = h.Value(is)
		}
		c.Mutated = has && len(owners) > 0 && !slices.ContainsFunc(wrote, func(e ownership.Entry) bool { return e.Owns(p, owners) })
		out = append(out, c)
	}
	return out, nil
}

// isListItem reports whether the path names a list item as such: what changed in it has paths of its own.
func isListItem(p field.Path) bool { return len(p) > 0 && p[len(p)-1].Key != nil }

// scaleChanges is the one field of a Scale that is written: how many. In the object itself it is where its kind keeps it, and nearly all
// keep it there.
func scaleChanges(before, now object.Object, h ownership.Hasher) []Change {
	was, is := before.At("spec", "replicas"), now.At("spec", "replicas")
	if is == nil {
		is = int64(0) // as Go prints no zeros
	}
	if field.EqualValues(was, is) || was == nil && field.EqualValues(is, int64(0)) {
		return nil
	}
	return []Change{{Path: replicas, To: h.Value(is)}}
}

const replicas = ".spec.replicas"

// withoutStatus is an object without its status, and of its metadata what people write.
func withoutStatus(o object.Object) object.Object {
	out := object.Object{}
	for k, v := range o {
		if k != "status" && k != "metadata" {
			out[k] = v
		}
	}
	meta := map[string]any{}
	for _, k := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		if v, ok := o.At("metadata", k).(map[string]any); ok {
			meta[k] = v
		} else if v, ok := o.At("metadata", k).([]any); ok {
			meta[k] = v
		}
	}
	if len(meta) > 0 {
		out["metadata"] = meta
	}
	return out
}

// writers are the entries that a write made, or by which it gained a field, and the sender's own: what it changed and they do not own, its sender
// did not change. An entry that only lost fields is the loser's. The server computes them before it asks mutating webhooks (kube-apiserver,
// handlers/update.go and patch.go).
func writers(r Record, before, now []ownership.Entry) []ownership.Entry {
	var out, newest []ownership.Entry
	for _, e := range now {
		i := slices.IndexFunc(before, func(o ownership.Entry) bool {
			return o.String() == e.String() && o.Operation == e.Operation && o.APIVersion == e.APIVersion
		})
		own := r.Manager != "" && e.Manager == r.Manager && e.Subresource == r.Subresource
		if i < 0 || own || !before[i].Time.Equal(e.Time) || gainsField(e.Fields, before[i].Fields) {
			out = append(out, e)
		}
		if len(newest) > 0 && e.Time.After(newest[0].Time) {
			newest = nil
		}
		if len(newest) == 0 || e.Time.Equal(newest[0].Time) {
			newest = append(newest, e)
		}
	}
	if len(out) == 0 && r.Manager == "" { // a second write within one second leaves an entry as it was, and one without a manager does not identify it
		return newest
	}
	return out
}

// gainsField reports whether there is a field that the first shape owns and the other one does not.
func gainsField(now, before ownership.Shape) bool {
	return slices.ContainsFunc(now.Paths(), func(p field.Path) bool { return !before.Has(p) })
}
