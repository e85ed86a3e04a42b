package helm

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	releasev1 "helm.sh/helm/v4/pkg/release/v1"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
)

// digestOf identifies values as helm-controller does, so that a release keeps its revision when it passes between the two: by their YAML, with
// the keys in order. Values that are empty are none.
func digestOf(values map[string]any) string {
	var read map[string]any // with the numbers of JSON
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	digest := sha256.New()
	if err == nil && len(read) > 0 { // what was read from YAML always encodes
		inOrder := yaml.JSONObjectToYAMLObject(read)
		sortKeys(inOrder)
		err = yamlv2.NewEncoder(digest).Encode(inOrder)
	}
	if err != nil {
		digest.Reset()
	}
	return "sha256:" + hex.EncodeToString(digest.Sum(nil))
}

// sortKeys sorts the keys of each map in a value.
func sortKeys(v any) {
	switch v := v.(type) {
	case yamlv2.MapSlice:
		slices.SortFunc(v, func(a, b yamlv2.MapItem) int {
			x, _ := a.Key.(string)
			y, _ := b.Key.(string)
			return cmp.Compare(x, y)
		})
		for _, item := range v {
			sortKeys(item.Value)
		}
	case []any:
		for _, e := range v {
			sortKeys(e)
		}
	}
}

// isSame reports whether a stored release has the objects of an output, whatever their order and form, but for the marks that others put on
// objects before they store them.
func (b *build) isSame(out output, stored *releasev1.Release) bool {
	if out.text() == stored.Manifest {
		return true
	}
	var made, had []string
	for _, m := range out.manifests {
		made = append(made, m.Content)
	}
	had = documents(stored.Manifest)
	now, err := b.objectsByID(made)
	if err != nil {
		return false
	}
	then, err := b.objectsByID(had)
	if err != nil || len(now) != len(then) {
		return false
	}
	for id, o := range then {
		if now[id] == nil || !reflect.DeepEqual(unmarked(now[id], b.request.Chart.Marks), unmarked(o, b.request.Chart.Marks)) {
			return false
		}
	}
	return true
}

// objectsByID are the objects of manifests.
func (b *build) objectsByID(manifests []string) (map[object.ID]object.Object, error) {
	out := map[object.ID]object.Object{}
	for _, text := range manifests {
		found, err := b.decode("", text)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			out[o.Data.ID()] = o.Data
		}
	}
	return out, nil
}

// unmarked is an object without marks, and without maps of metadata that are empty.
func unmarked(o object.Object, marks overlay.Metadata) object.Object {
	out := o.Clone()
	meta, _ := out["metadata"].(map[string]any)
	for key, without := range map[string]map[string]string{"labels": marks.Labels, "annotations": marks.Annotations} {
		has, _ := meta[key].(map[string]any)
		maps.DeleteFunc(has, func(k string, v any) bool { return without[k] != "" && without[k] == v })
		if len(has) == 0 {
			delete(meta, key)
		}
	}
	return out
}
