// Package plain answers: which objects are in these manifest files, as they stand?
//
// In: a directory of YAML and JSON files without a kustomization file.
// Out: their objects in file order, each with its file and line.
// Promise: gives what Kustomize gives for the generated kustomization of the same directory (zero Directory), or what
// Argo CD reads (Directory set), where alone two files may name one object, and a file that holds no manifest may be broken.
// Not here: kustomization files, namespaces and patches (kustomize).
package plain

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/glob"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/yamltext"
	"github.com/truce-gitops/truce/internal/render"
)

// Renderer reads plain manifests. The zero value is ready.
type Renderer struct{}

// Render implements render.Renderer. Request.Namespace and Overlay need Kustomize and are refused.
func (Renderer) Render(ctx context.Context, r render.Request) (render.Result, error) {
	objects, err := manifests(ctx, r)
	if err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	return render.Result{Objects: objects, Rendered: true}, nil
}

func manifests(ctx context.Context, r render.Request) ([]render.Object, error) {
	if r.HasEdits() {
		return nil, fmt.Errorf("plain manifests take no namespace and no edits")
	}
	files, err := manifestFiles(r)
	if err != nil {
		return nil, err
	}
	limits := r.Limits.OrDefault()
	var all []render.Object
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		objects, err := fileObjects(r, file)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
		if len(all) > limits.Objects {
			return nil, &render.Error{File: file, Err: fmt.Errorf("more than %d objects: %w", limits.Objects, render.ErrLimit)}
		}
	}
	if r.Directory != nil { // Argo CD takes the last one of several, see desired.Normalize
		return all, nil
	}
	return all, checkUnique(all)
}

// fileObjects reads the objects of a file. In a directory of Argo CD values, templates and the like may lie beside the manifests: they have none.
func fileObjects(r render.Request, file string) ([]render.Object, error) {
	data, err := readManifest(r, file)
	switch {
	case err != nil:
		return nil, err
	case r.Directory == nil:
		objects, err := render.Manifests(file, data)
		return slices.DeleteFunc(objects, render.Object.IsLocal), err
	case isMarked(data):
		return nil, nil
	case path.Ext(file) == ".jsonnet":
		return nil, &render.Error{File: file, Err: fmt.Errorf("jsonnet is not supported")}
	}
	objects, err := kubectlManifests(file, data)
	if err != nil && !isManifest(file, data) {
		return nil, nil
	}
	return objects, err
}

// isMarked reports whether a file asks Argo CD to leave it out (docs/user-guide/directory.md of argo-cd, "Skipping File Rendering").
func isMarked(data []byte) bool {
	if text, err := yamltext.ManifestText(data); err == nil {
		data = text
	}
	return bytes.Contains(data, []byte("+argocd:skip-file-rendering"))
}

// readManifest reads a file that may have manifests.
func readManifest(r render.Request, file string) ([]byte, error) {
	data, err := render.ReadFile(r.Files, file, r.Limits.OrDefault().FileBytes)
	if err == nil {
		err = refusePointer(data)
	}
	if err != nil {
		return nil, &render.Error{File: file, Err: err}
	}
	return data, nil
}

// isManifest reports whether a file that gives no objects may be a manifest: a document of it names a type, or, where it does not parse or
// a document is neither map nor list, it has a field of a manifest anywhere, or is no text. Its objects must not count as gone from Git, and be pruned, because of an error in the file.
func isManifest(file string, data []byte) bool {
	isText := func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode } // as of a manifest whose colons were lost
	if nodes, err := render.ParseNodes(file, data); err == nil && !slices.ContainsFunc(nodes, isText) {
		return slices.ContainsFunc(nodes, func(n *yaml.Node) bool {
			return namesType(n) || n.Kind == yaml.SequenceNode && slices.ContainsFunc(n.Content, namesType)
		})
	}
	return bytes.Contains(data, []byte("apiVersion")) || bytes.Contains(data, []byte("kind")) || !utf8.Valid(data) || bytes.ContainsRune(data, 0)
}

// namesType reports whether a document has a field of a type, or may have it of a merge key.
func namesType(n *yaml.Node) bool {
	if n = render.FollowAlias(n); n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Value == "apiVersion" || key.Value == "kind" || key.ShortTag() == "!!merge" {
			return true
		}
	}
	return false
}

// manifestFiles returns the manifest files of the request in walking order.
func manifestFiles(r render.Request) ([]string, error) {
	if r.Directory != nil {
		return argoFiles(r)
	}
	manifests, roots, err := render.Collect(r.Files, r.Path)
	if err != nil {
		return nil, err
	}
	if len(roots) > 0 {
		return nil, fmt.Errorf("%s has a kustomization file", roots[0])
	}
	return manifests, nil
}

var argoManifest = regexp.MustCompile(`^.*\.(yaml|yml|json|jsonnet)$`)

// argoFiles finds files as Argo CD's repo-server does (findManifests): .yaml .yml .json .jsonnet, the top directory alone
// unless recurse, include and exclude patterns against the path below the directory.
func argoFiles(r render.Request) ([]string, error) {
	include, err := glob.Compile(r.Directory.Include, 0)
	if err != nil {
		return nil, fmt.Errorf("include: %w", err)
	}
	exclude, err := glob.Compile(r.Directory.Exclude, 0)
	if err != nil {
		return nil, fmt.Errorf("exclude: %w", err)
	}
	chosen := func(name string) bool {
		below := strings.TrimPrefix(strings.TrimPrefix(name, r.Path), "/")
		return argoManifest.MatchString(name) && (exclude == nil || !exclude.MatchString(below)) && (include == nil || include.MatchString(below))
	}
	var found []string
	err = fs.WalkDir(r.Files, r.Path, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return descend(r, name)
		case chosen(name):
			found = append(found, name)
		}
		return nil
	})
	return found, err
}

// descend says whether a directory is looked into: fs.SkipDir for no.
func descend(r render.Request, dir string) error {
	if dir != r.Path && (!r.Directory.Recurse || path.Base(dir) == ".git") {
		return fs.SkipDir
	}
	return nil
}

// checkUnique refuses a second object of the same identity, as Kustomize does.
func checkUnique(objects []render.Object) error {
	first := make(map[object.ID]render.Object, len(objects))
	for _, o := range objects {
		if o.Data.IsGenerated() {
			continue // each creation makes another name
		}
		id := o.Data.ID()
		if f, ok := first[id]; ok {
			return &render.Error{File: o.File, Line: o.Line, Err: fmt.Errorf("%s is already at %s:%d", id, f.File, f.Line)}
		}
		first[id] = o
	}
	return nil
}

var _ render.Renderer = Renderer{}
