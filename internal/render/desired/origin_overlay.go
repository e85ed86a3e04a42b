package desired

import (
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render"
)

// laid notes what the app's custom resource changes in what its directory describes. It is edited into the directory's own
// kustomization, so that its parts come in between of that one's; which of two that touch one field is the last, the value decides.
func (t *trail) laid(a app.App) {
	dir := path.Clean(a.Path)
	for _, c := range a.Overlay.Components {
		t.walk(path.Join(dir, c), true)
	}
	for _, p := range a.Overlay.Parts(a.Namespace) {
		var k yaml.Node
		if err := k.Encode(t.renamed(dir, p.Kustomization)); err != nil {
			continue
		}
		known := len(t.places)
		t.transform(dir, "", &k)
		t.says(known, a, p.Field)
	}
	t.metadata(a)
	t.destination(a.Key, a.DefaultNamespace)
}

// destination notes which field of the custom resource says where an object goes that names no namespace.
func (t *trail) destination(of app.Key, to policy.DefaultNamespace) {
	if len(t.places) > 0 || to.Field == "" || t.path.String() != ".metadata.namespace" || t.value != to.Name {
		return
	}
	t.places = append(t.places, Place{Field: of.String() + " " + to.Field, Means: ByNamespace, Exact: true})
}

// says puts the field of the custom resource in the places since known that are in no file.
func (t *trail) says(known int, a app.App, by string) {
	for i := known; i < len(t.places); i++ {
		if p := &t.places[i]; p.File == "" {
			*p = Place{Field: a.Key.String() + " " + by, Means: p.Means, Exact: p.Exact, Variable: p.Variable}
		}
	}
}

// renamed completes an override of images that keeps the name that the directory's kustomization gives them.
func (t *trail) renamed(dir string, part map[string]any) map[string]any {
	list, _ := part["images"].([]any)
	if len(list) == 0 {
		return part
	}
	entry, _ := list[0].(map[string]any)
	name, _ := entry["name"].(string)
	as := t.newName(dir, name)
	if entry["newName"] != nil || as == "" {
		return part
	}
	whole := map[string]any{"name": as} // as if it were its own: the file says it, and has its own place
	for _, key := range []string{"newTag", "digest"} {
		if v, ok := entry[key]; ok {
			whole[key] = v
		}
	}
	return map[string]any{"images": []any{whole}}
}

// newName is what the directory's kustomization calls the images of a name; empty for nothing else.
func (t *trail) newName(dir, name string) string {
	file, err := render.KustomizationFile(t.files, dir)
	if err != nil || file == "" {
		return ""
	}
	for _, k := range t.nodes(file) {
		for _, n := range entries(k, "images") {
			if scalarText(n, "name") == name {
				return scalarText(n, "newName")
			}
		}
	}
	return ""
}

// metadata notes the labels and annotations that are put on objects when all else is done.
func (t *trail) metadata(a app.App) {
	if len(t.path) != 3 || !slices.Contains([]string{"labels", "annotations"}, lastName(t.path[:2])) || lastName(t.path[:1]) != "metadata" {
		return
	}
	pairs, means := a.Overlay.Metadata.Labels, ByLabel
	if lastName(t.path[:2]) == "annotations" {
		pairs, means = a.Overlay.Metadata.Annotations, ByAnnotation
	}
	key := lastName(t.path)
	value, ok := pairs[key]
	if !ok {
		return
	}
	at := a.Overlay.Pair("commonMetadata."+lastName(t.path[:2]), key)
	t.places = append(t.places, Place{Field: a.Key.String() + " " + at, Means: means, Exact: t.there && field.EqualValues(value, t.value)})
}

// addMetadata puts the overlay's metadata on an object.
func addMetadata(meta map[string]any, m overlay.Metadata) {
	for key, pairs := range map[string]map[string]string{"labels": m.Labels, "annotations": m.Annotations} {
		if len(pairs) == 0 {
			continue
		}
		had, ok := meta[key].(map[string]any)
		if !ok {
			had = map[string]any{}
			meta[key] = had
		}
		for k, v := range pairs {
			had[k] = v
		}
	}
}
