package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source/disk"
)

// Member is an app that is looked at, and with which files.
type Member struct {
	Key     app.Key
	Preview Preview
}

// mostMembers bounds the apps that one look may lead to.
const mostMembers = 1000

// EachMember calls look with an app and with the members that it returns, and those that they do, each app once.
func EachMember(first Member, look func(Member) ([]Member, error)) error {
	seen := map[app.Key]bool{first.Key: true}
	for next := []Member{first}; len(next) > 0; next = next[1:] {
		more, err := look(next[0])
		if err != nil {
			return err
		}
		for _, m := range more {
			if !seen[m.Key] {
				seen[m.Key] = true
				next = append(next, m)
			}
		}
		if len(seen) > mostMembers {
			return fmt.Errorf("%s leads to more than %d Kustomizations: %w", first.Key, mostMembers, render.ErrLimit)
		}
	}
	return nil
}

// Members returns the Kustomizations among the objects of an app, if its preview asks for them. One of the same source is looked at in the
// same local files, one of another source in the directory that Preview.Sources has for it, and else as the cluster has it.
func (m Member) Members(parent app.App, objects []desired.Object) ([]Member, error) {
	if !m.Preview.Members {
		return nil, nil
	}
	var out []Member
	for _, o := range objects {
		if o.GVK.Group != registry.Kustomizations.Group || o.GVK.Kind != registry.Kustomizations.Kind {
			continue
		}
		a := flux.Kustomizations{}.App(o.Data, policy.Policy{})
		if len(a.Problems) > 0 {
			return nil, exit.WithCode(exit.Render, fmt.Errorf("%s: %s: %s", a.Key, a.Problems[0].Field, a.Problems[0].Reason))
		}
		child := m.Preview
		child.File, child.Custom = "", o.Data
		if a.Source != parent.Source {
			child.Dir, child.Revision = "", ""
		}
		root, err := child.root(a, parent)
		if err != nil {
			return nil, err
		}
		if root != "" {
			child.Dir = filepath.Join(root, filepath.Join("/", filepath.FromSlash(a.Path)))
		}
		out = append(out, Member{a.Key, child})
	}
	return out, nil
}

// root is the directory of this machine in the place of an app's source; empty for none.
func (p Preview) root(a, parent app.App) (string, error) {
	if dir, ok := p.Sources[a.Source.Kind+"/"+a.Source.Namespace+"/"+a.Source.Name]; ok || p.Dir == "" {
		return dir, nil
	}
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return "", err
	}
	if above, ok := strings.CutSuffix(dir, string(filepath.Separator)+filepath.FromSlash(parent.Path)); ok {
		return above, nil
	}
	top, _, err := local.LocateRoot(dir)
	return top, err
}

// OpenTree opens the tree that Dir is in, and says where. Close it.
func (p Preview) OpenTree() (*disk.Tree, string, error) {
	top, below, err := local.LocateRoot(p.Dir)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", p.Dir, local.SystemCause(err))
	}
	tree, err := disk.OpenTree(top)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", p.Dir, local.SystemCause(err))
	}
	if p.Ignore != "" {
		tree.Exclude(below, p.Ignore)
	}
	return tree, below, nil
}

// Given returns the custom resource that a preview brings, in the namespace of the key where it names none; nil for none. A key without
// namespace is of any.
func (p Preview) Given(gvk object.GVK, key app.Key) (object.Object, error) {
	if p.File == "" {
		return p.Custom, nil
	}
	text, err := readInput(p.File)
	if err != nil {
		return nil, exit.WithCode(exit.Usage, fmt.Errorf("read %s: %w", p.File, err))
	}
	objects, err := render.Manifests(p.File, text)
	if err != nil {
		return nil, exit.WithCode(exit.Render, err)
	}
	var there []string
	for _, o := range objects {
		if id := o.Data.ID(); id.Group == gvk.Group && id.Kind == gvk.Kind {
			if id.Name == key.Name && (id.Namespace == "" || key.Namespace == "" || id.Namespace == key.Namespace) {
				return inNamespace(o.Data, key.Namespace), nil
			}
			there = append(there, id.String())
		}
	}
	return nil, exit.WithCode(exit.Usage, fmt.Errorf("read %s: it has no %s; there are %s", p.File, key, strings.Join(append(there, "no others"), ", ")))
}

func inNamespace(o object.Object, namespace string) object.Object {
	out := maps.Clone(o)
	meta := maps.Clone(o.Metadata())
	if o.Namespace() == "" && namespace != "" {
		meta["namespace"] = namespace
	}
	out["metadata"] = meta
	return out
}

// customResource is the custom resource that an app is looked at with. What the cluster says of it stays where a preview brings another one.
func (c *Cluster) customResource(ctx context.Context, gvk object.GVK, key app.Key, p Preview) (object.Object, error) {
	given, err := p.Given(gvk, key)
	if err != nil {
		return nil, err
	}
	there, err := c.engine.Live.Get(ctx, gvk, resourceID(gvk, key))
	switch {
	case given != nil && errors.Is(err, live.ErrNotFound):
		return given, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", key, err)
	case given == nil:
		return there, nil
	}
	given = inNamespace(given, key.Namespace)
	if status, ok := there["status"]; ok {
		given["status"] = status
	}
	for _, name := range []string{"uid", "generation"} {
		if v, ok := there.Metadata()[name]; ok {
			given.Metadata()[name] = v
		}
	}
	return given, nil
}
