package desired

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// generated follows the roots below a directory without a kustomization file; it reports whether the object is in one.
func (t *trail) generated(dir string) bool {
	_, roots, err := render.Collect(t.files, dir)
	return err == nil && slices.ContainsFunc(roots, t.build)
}

// build walks a kustomization in the order in which it is built and reports whether the object is in it.
func (t *trail) build(dir string) bool { return t.walk(dir, false) }

// walk reads one directory. A component is built into what its user has, so its transformers touch what was found before.
func (t *trail) walk(dir string, found bool) bool {
	file, k := t.kustomization(dir)
	if k == nil {
		return false
	}
	t.seen[dir] = true
	defer delete(t.seen, dir)
	found = t.resources(dir, k) || found
	if file == t.object.File {
		t.generator(dir, file, k)
		found = true
	}
	for _, c := range entries(k, "components") {
		found = t.walk(upstream.JoinEntry(dir, c.Value), found) || found
	}
	if found {
		t.transform(dir, file, k)
	}
	return found
}

func (t *trail) kustomization(dir string) (string, *yaml.Node) {
	if t.seen[dir] {
		return "", nil
	}
	file, err := render.KustomizationFile(t.files, dir)
	if err != nil || file == "" {
		return "", nil
	}
	if nodes := t.nodes(file); len(nodes) > 0 {
		return file, nodes[0]
	}
	return "", nil
}

func (t *trail) resources(dir string, k *yaml.Node) bool {
	found := false
	for _, key := range []string{"resources", "bases"} {
		for _, e := range entries(k, key) {
			name := upstream.JoinEntry(dir, e.Value)
			if name == t.object.File {
				t.manifest()
				found = true
				continue
			}
			found = t.build(name) || found
		}
	}
	return found
}

func entries(k *yaml.Node, key string) []*yaml.Node {
	list := render.FieldNode(k, key)
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil
	}
	all := make([]*yaml.Node, len(list.Content))
	for i, n := range list.Content {
		all[i] = render.FollowAlias(n)
	}
	return all
}

func scalarText(n *yaml.Node, key string) string {
	if v := render.FieldNode(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// transform notes what a kustomization's own fields set, in the order of Kustomize (configureBuiltinTransformers).
func (t *trail) transform(dir, file string, k *yaml.Node) {
	for _, n := range entries(k, "patchesStrategicMerge") {
		t.patch(dir, file, n, nil)
	}
	for _, n := range entries(k, "patches") {
		t.patchEntry(dir, file, n)
	}
	t.namespace(file, k)
	t.names(file, k)
	t.labels(file, k)
	for _, n := range entries(k, "patchesJson6902") {
		t.patchEntry(dir, file, n)
	}
	t.replicas(file, k)
	t.images(file, k)
}

func (t *trail) is(names ...string) bool { return t.path.Equals(field.NewPath(names...)) }

func (t *trail) namespace(file string, k *yaml.Node) {
	if n := render.FieldNode(k, "namespace"); n != nil && (t.is("metadata", "namespace") || t.isSubjectNamespace()) {
		t.add(file, n, ByNamespace, n.Value)
	}
}

func (t *trail) isSubjectNamespace() bool {
	return len(t.path) == 3 && strings.HasPrefix(t.path.String(), ".subjects") && lastName(t.path) == "namespace"
}

func (t *trail) names(file string, k *yaml.Node) {
	if !t.is("metadata", "name") {
		return
	}
	for _, key := range []string{"namePrefix", "nameSuffix"} {
		if n := render.FieldNode(k, key); n != nil && n.Value != "" {
			t.add(file, n, ByName, n.Value)
		}
	}
}

// labels covers labels, selectors made of them, and annotations.
func (t *trail) labels(file string, k *yaml.Node) {
	if len(t.path) < 2 {
		return
	}
	key, parent := lastName(t.path), lastName(t.path[:len(t.path)-1])
	switch parent {
	case "labels", "matchLabels", "selector":
		for _, n := range entries(k, "labels") {
			t.pair(file, render.FieldNode(n, "pairs"), key, ByLabel)
		}
		t.pair(file, render.FieldNode(k, "commonLabels"), key, ByLabel)
	case "annotations":
		t.pair(file, render.FieldNode(k, "commonAnnotations"), key, ByAnnotation)
	}
}

func (t *trail) pair(file string, pairs *yaml.Node, key string, means Means) {
	if n := render.FieldNode(pairs, key); n != nil {
		t.add(file, n, means, n.Value)
	}
}

func (t *trail) replicas(file string, k *yaml.Node) {
	if !t.is("spec", "replicas") {
		return
	}
	for _, n := range entries(k, "replicas") {
		count := render.FieldNode(n, "count")
		if count == nil || !t.named(scalarText(n, "name")) {
			continue
		}
		if value, err := render.DecodeValue(file, count); err == nil {
			t.add(file, count, ByReplicas, value)
		}
	}
}

func (t *trail) images(file string, k *yaml.Node) {
	wanted, ok := t.value.(string)
	if !ok || lastName(t.path) != "image" {
		return
	}
	for _, n := range entries(k, "images") {
		name := scalarText(n, "newName")
		if name == "" {
			name = scalarText(n, "name")
		}
		rest, ok := strings.CutPrefix(wanted, name)
		if !ok || rest != "" && rest[0] != ':' && rest[0] != '@' {
			continue
		}
		for _, key := range []string{"newName", "newTag", "digest"} {
			if at := render.FieldNode(n, key); at != nil {
				t.places = append(t.places, Place{File: file, Line: at.Line, Column: at.Column, Means: ByImage, Exact: changesImage(key, at.Value, rest)})
			}
		}
	}
}

// changesImage reports whether a part of an images entry is in the wanted image; rest is what follows the image's name.
func changesImage(key, value, rest string) bool {
	switch key {
	case "newTag":
		return strings.HasPrefix(rest, ":"+value)
	case "digest":
		return strings.HasSuffix(rest, "@"+value)
	}
	return true
}

// named reports whether a name in a kustomization means the object: its own, or, because prefixes, suffixes and hashes come
// later, a part of it.
func (t *trail) named(name string) bool {
	return name != "" && strings.Contains(t.object.ID.Name, name)
}

// targeted reports whether a patch's target selects the object, as far as kind and name decide it.
func (t *trail) targeted(target *yaml.Node) bool {
	if kind := scalarText(target, "kind"); kind != "" && !matches(kind, t.object.ID.Kind) {
		return false
	}
	name := scalarText(target, "name")
	return name == "" || matches(name, t.object.ID.Name) || matches(name, t.first) || t.named(name)
}

// matches reads a selector as Kustomize does: an anchored regular expression.
func matches(pattern, s string) bool {
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	return err == nil && re.MatchString(s)
}

func lastName(p field.Path) string {
	if len(p) == 0 || p[len(p)-1].FieldName == nil {
		return ""
	}
	return *p[len(p)-1].FieldName
}
