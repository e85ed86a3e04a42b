package render

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/object"
)

// localConfig marks an object that is for tools and not for a cluster.
const localConfig = "config.kubernetes.io/local-config"

// IsLocal reports whether a build of a kustomization leaves the object out. Helm, kubectl and a directory of Argo CD know no such mark.
func (o Object) IsLocal() bool {
	mark, ok := o.Data.Annotation(localConfig)
	return ok && mark != "false"
}

// Manifests decodes the objects of a file: lists are expanded (a kind that ends in List and has items, which may leave out what the kind of
// the list says of theirs), configuration for Kustomize is left out. An object without apiVersion, kind
// or name is an error at its line; generateName may stand for the name.
func Manifests(file string, data []byte) ([]Object, error) {
	nodes, err := ParseNodes(file, data)
	if err != nil {
		return nil, err
	}
	var all []Object
	for _, n := range nodes {
		found, err := Document(file, n)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Document decodes the objects of one document of a file, as Manifests does those of all.
func Document(file string, n *yaml.Node) ([]Object, error) {
	v, err := DecodeValue(file, n)
	if err != nil {
		return nil, err
	}
	return appendObjects(nil, file, n, v)
}

func appendObjects(all []Object, file string, n *yaml.Node, v any) ([]Object, error) {
	if v == nil {
		return all, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &Error{File: file, Line: n.Line, Err: errors.New("not a Kubernetes object: no map")}
	}
	if len(m) == 0 {
		return all, nil
	}
	o := object.Object(m)
	if _, ok := m["items"]; ok && strings.HasSuffix(o.GVK().Kind, "List") {
		found, err := itemsOf(file, n, o)
		return append(all, found...), err
	}
	if isKustomizeConfig(o) {
		return all, nil
	}
	if err := checkObject(o); err != nil {
		return nil, &Error{File: file, Line: n.Line, Err: err}
	}
	if err := checkNumbers(o, file, n); err != nil {
		return nil, err
	}
	return append(all, Object{Data: o, File: file, Line: n.Line}), nil
}

func itemsOf(file string, n *yaml.Node, of object.Object) ([]Object, error) {
	if of["items"] == nil {
		return nil, nil
	}
	list, ok := of["items"].([]any)
	if !ok {
		return nil, &Error{File: file, Line: n.Line, Err: errors.New("items is not a list")}
	}
	nodes := FieldNode(n, "items")
	var all []Object
	var err error
	for i, item := range list {
		at := n
		if nodes != nil && i < len(nodes.Content) {
			at = FollowAlias(nodes.Content[i])
		}
		if all, err = appendObjects(all, file, at, withListType(of, item)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// withListType is an item of a list with the type that the list's says, if it names none: items of a DeploymentList are Deployments
// (k8s.io/apimachinery, unstructuredJSONScheme.decodeToList).
func withListType(list object.Object, item any) any {
	m, ok := item.(map[string]any)
	kind := strings.TrimSuffix(list.GVK().Kind, "List")
	if !ok || len(m) == 0 || kind == "" || m["kind"] != nil || m["apiVersion"] != nil {
		return item
	}
	m = maps.Clone(m) // an alias may share it
	m["apiVersion"], m["kind"] = list.APIVersion(), kind
	return m
}

// FieldNode returns the value of a map's key, nil if it has none. Aliases are followed.
func FieldNode(n *yaml.Node, key string) *yaml.Node {
	n = FollowAlias(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return FollowAlias(n.Content[i+1])
		}
	}
	return nil
}

// FollowAlias returns what an alias stands for, and any other node itself.
func FollowAlias(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isKustomizeConfig(o object.Object) bool {
	return o.GVK().Group == "kustomize.config.k8s.io"
}

func checkObject(o object.Object) error {
	var missing []string
	if o.APIVersion() == "" {
		missing = append(missing, "apiVersion")
	}
	if o.GVK().Kind == "" {
		missing = append(missing, "kind")
	}
	if o.Name() == "" && !o.IsGenerated() {
		missing = append(missing, "metadata.name")
	}
	if len(missing) > 0 {
		return fmt.Errorf("not a Kubernetes object: no %s", strings.Join(missing, ", no "))
	}
	return nil
}

// Nameless is why an object with generateName is not kept in sync; nil for any other. Flux builds no such object, and Argo CD creates them as
// hooks alone.
func (o Object) Nameless() error {
	if !o.Data.IsGenerated() {
		return nil
	}
	return errNameless
}

var errNameless = errors.New("it has generateName and no name: it can be created, and never be compared with Git; give it a name, or in an Argo CD application make it a hook")
