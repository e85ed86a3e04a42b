package reader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// CheckOverlay adds a problem for each field of an overlay that no build could make sense of, whatever it is laid over.
func (r *Reader) CheckOverlay(o overlay.Overlay) {
	r.checkNamePart(o.Field("namePrefix"), o.NamePrefix)
	r.checkNamePart(o.Field("nameSuffix"), o.NameSuffix)
	for i, c := range o.Components {
		r.checkComponent(o.Entry("components", i), c)
	}
	for i, p := range o.Patches {
		r.checkPatch(o.PatchField(i), p)
	}
	for i, m := range o.Images {
		if m.Name == "" {
			r.Problem(o.Entry("images", i)+".name", "required")
		}
	}
	for i, n := range o.Replicas {
		if n.Name == "" {
			r.Problem(o.Entry("replicas", i)+".name", "required: the name of a workload")
		}
	}
	if o.Labels.Selectors && o.Labels.Templates {
		r.Problem(o.Field("labelIncludeTemplates"), "labels that go into selectors go into templates, too; want it with labelWithoutSelector only")
	}
	r.checkLabels(o.Field("commonLabels"), o.Labels.Pairs)
	r.checkKeys(o.Field("commonAnnotations"), o.Annotations.Pairs)
	r.checkLabels(o.Field("commonMetadata.labels"), o.Metadata.Labels)
	r.checkKeys(o.Field("commonMetadata.annotations"), o.Metadata.Annotations)
}

// checkNamePart refuses what no name of an object can have in it, of whatever kind (IsValidPathSegmentName of Kubernetes).
func (r *Reader) checkNamePart(field, part string) {
	if strings.ContainsAny(part, "/% \t\n") {
		r.Problem(field, "%q cannot be a part of a name", part)
	}
}

func (r *Reader) checkComponent(field, dir string) {
	switch {
	case strings.TrimSpace(dir) == "":
		r.Problem(field, "names no directory")
	case path.IsAbs(dir):
		r.Problem(field, "%q begins with a slash; want a path relative to the app's", dir)
	}
	if _, err := path.Match(dir, ""); err != nil {
		r.Problem(field, "%q is no pattern: %s", dir, err)
	}
}

// checkPatch checks the form of an entry, which Kustomize would report only when an object is there to be patched.
func (r *Reader) checkPatch(field string, p map[string]any) {
	text, _ := p["patch"].(string)
	file, _ := p["path"].(string)
	switch {
	case text != "" && file != "":
		r.Problem(field, "has both patch and path; want one of them")
	case text == "" && file == "":
		r.Problem(field, "names no patch")
	case text != "":
		if err := checkPatchText(text, p["target"] != nil); err != nil {
			r.Problem(field+".patch", "%s", err)
		}
	}
}

// checkPatchText leaves empty documents out, as Kustomize does.
func checkPatchText(text string, targeted bool) error {
	docs := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for n := 0; ; {
		var doc yaml.Node
		err := docs.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF) && n == 0:
			return errors.New("is empty")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errors.New(redact.WithoutQuoted(strings.TrimPrefix(err.Error(), "yaml: ")))
		case doc.Content[0].ShortTag() == "!!null":
			continue
		}
		n++
		if err := checkDocument(doc.Content[0], targeted); err != nil {
			return err
		}
	}
}

func checkDocument(doc *yaml.Node, targeted bool) error {
	switch {
	case doc.Kind == yaml.MappingNode:
		return nil
	case doc.Kind != yaml.SequenceNode:
		return errors.New("want an object to merge, or a list of JSON patch operations")
	case !targeted:
		return errors.New("JSON patch operations need a target: which objects are they about?")
	}
	for i, op := range doc.Content {
		if err := checkOperation(op); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return nil
}

// operations are those of JSON patches (RFC 6902).
var operations = []string{"add", "remove", "replace", "move", "copy", "test"}

func checkOperation(op *yaml.Node) error {
	var o struct {
		Op   string  `yaml:"op"`
		Path *string `yaml:"path"`
	}
	switch {
	case op.Decode(&o) != nil:
		return errors.New("is no JSON patch operation")
	case !slices.Contains(operations, o.Op):
		return fmt.Errorf("op %q: want %s", o.Op, strings.Join(operations, ", "))
	case o.Path == nil || *o.Path != "" && (*o.Path)[0] != '/':
		return errors.New("path: want a JSON pointer, which begins with a slash")
	}
	return nil
}

func (r *Reader) checkLabels(field string, pairs map[string]string) {
	r.checkKeys(field, pairs)
	for _, k := range slices.Sorted(maps.Keys(pairs)) {
		if why := content.IsLabelValue(pairs[k]); len(why) > 0 {
			r.Problem(field+"["+k+"]", "%q is no value of a label: %s", pairs[k], plainly(why))
		}
	}
}

func (r *Reader) checkKeys(field string, pairs map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(pairs)) {
		if why := content.IsLabelKey(strings.ToLower(k)); len(why) > 0 {
			r.Problem(field+"["+k+"]", "is no key of a label or annotation: %s", plainly(why))
		}
	}
}

// plainly leaves out examples and the regular expression.
func plainly(why []string) string {
	text, _, _ := strings.Cut(why[0], " (e.g. ")
	return text
}
