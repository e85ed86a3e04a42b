package desired

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
)

// podSpecs are where Kubernetes' own kinds keep the description of their pods.
var podSpecs = [][]string{{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}}

// Images lists the images of the containers that Git names, each once, in order.
func (s Set) Images() []string {
	var out []string
	for _, o := range s.Objects {
		if !builtIn(o.GVK.Group) {
			continue
		}
		for _, at := range podSpecs {
			for _, image := range imagesAt(o.Data, at) {
				out = append(out, o.Sensitive.Text(image))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func imagesAt(o object.Object, at []string) []string {
	var out []string
	for _, key := range []string{"containers", "initContainers"} {
		list, _ := o.At(append(slices.Clone(at), key)...).([]any)
		for _, v := range list {
			c, _ := v.(map[string]any)
			if image, _ := c["image"].(string); image != "" {
				out = append(out, image)
			}
		}
	}
	return out
}
