package desired

import (
	"slices"
	"unique"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
)

// podSpecs are where Kubernetes' own kinds keep the description of their pods.
var podSpecs = [][]string{{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}}

// Images lists the images of the containers that Git names, in the order of the objects, then of the hooks.
func (s Set) Images() []overlay.Container {
	var out []overlay.Container
	for _, o := range s.Objects {
		out = append(out, o.images()...)
	}
	for _, h := range s.Hooks {
		out = append(out, h.images()...)
	}
	return out
}

func (o Object) images() (out []overlay.Container) {
	if !builtIn(o.GVK.Group) {
		return nil
	}
	for _, at := range podSpecs {
		for _, c := range imagesAt(o.Data, at) {
			out = append(out, overlay.Container{ID: o.ID, Field: c.Field, Image: o.Sensitive.Text(c.Image)})
		}
	}
	return out
}

func imagesAt(o object.Object, at []string) []overlay.Container {
	var out []overlay.Container
	for _, key := range []string{"containers", "initContainers"} {
		at := append(slices.Clone(at), key)
		list, _ := o.At(at...).([]any)
		for _, v := range list {
			c, _ := v.(map[string]any)
			if image, _ := c["image"].(string); image != "" {
				path := append(field.NewPath(at...), field.KeyElement(c, []string{"name"}))
				name := unique.Make(field.PathString(append(path, field.NewPath("image")...))).Value() // most apps have the same few
				out = append(out, overlay.Container{Field: name, Image: image})
			}
		}
	}
	return out
}
