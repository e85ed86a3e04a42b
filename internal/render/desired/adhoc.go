package desired

import (
	"cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

// NormalizeUnmarked makes the Set of what is rendered for no app: like Settle, without the mark of an app. The namespace is that of
// objects that name none; the empty one is "default", as in kubectl.
func NormalizeUnmarked(rendered []render.Object, namespace string, scope func(object.GVK) Scope) (Set, error) {
	s, err := Normalize(rendered, app.App{Namespace: cmp.Or(namespace, "default")}, scope)
	if err != nil {
		return Set{}, err
	}
	for i := range s.Objects {
		o := &s.Objects[i]
		removeMarks(o.Data)
		if o.Digest != "" {
			o.Digest = ObjectDigest(o.Data)
		}
	}
	return s, nil
}

func removeMarks(data object.Object) {
	meta := data.Metadata()
	labels, _ := meta["labels"].(map[string]any)
	delete(labels, PartOf)
	if len(labels) == 0 {
		delete(meta, "labels")
	}
}

// IsBuiltInGroup reports whether the API group is Kubernetes' own.
func IsBuiltInGroup(group string) bool { return builtIn(group) }
