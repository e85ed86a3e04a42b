package up

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
)

func (s *starting) resources(ctx context.Context) error {
	objects, err := s.wanted()
	if err != nil {
		return err
	}
	return s.apply(ctx, append(objects, s.othersNamed()...))
}

// othersNamed are the sources that read the user's repository by the names that its apps have for it.
func (s *starting) othersNamed() (out []object.Object) {
	for _, name := range s.options.Names {
		source, usual := sourceOf(s.world.Repo, s.options)
		if name == usual {
			continue
		}
		source["metadata"] = map[string]any{"name": name, "namespace": Home}
		out = append(out, source)
		s.steps.Step(fmt.Sprintf("GitRepository %s/%s is the repository under another name: its apps are read from that", Home, name))
	}
	return out
}

// brought lists an object that was installed into a cluster of others.
func (s *starting) brought(o object.Object) {
	if !s.foreign {
		return
	}
	name := strings.Trim(o.Namespace()+"/"+o.Name(), "/")
	s.world.Brought = append(s.world.Brought, o.GVK().Kind+"/"+name)
	s.steps.Step("brought " + o.GVK().Kind + " " + name)
}

// wanted are the custom resources: those of the demo's own clusters/demo, or a source and an app for the user's repository.
func (s *starting) wanted() ([]object.Object, error) {
	if !s.world.Demo {
		return ofRepository(s.world.Repo, s.options), nil
	}
	objects, err := manifests(os.DirFS(s.world.Repo), "clusters/demo")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.world.Repo, err)
	}
	for _, o := range objects {
		if spec, ok := o["spec"].(map[string]any); ok && o.GVK() == registry.GitRepositories {
			spec["url"] = s.world.Repo
		}
	}
	// Namespaces first, then sources: what the others need.
	rank := map[string]int{"Namespace": 0, registry.GitRepositories.Kind: 1}
	slices.SortStableFunc(objects, func(a, b object.Object) int { return installOrder(rank, a) - installOrder(rank, b) })
	return objects, nil
}

func installOrder(rank map[string]int, o object.Object) int {
	if n, ok := rank[o.GVK().Kind]; ok {
		return n
	}
	return len(rank)
}

// Home is the namespace of the custom resources that `truce up --repo` makes, as `flux bootstrap` has it.
const Home = "flux-system"

// sourceOf is the source that reads a repository, and its name.
func sourceOf(url string, o Options) (source object.Object, name string) {
	name = repositoryName(url)
	spec := map[string]any{"interval": "1m", "url": url, "ref": map[string]any{"name": "HEAD"}}
	if o.Branch != "" {
		spec["ref"] = map[string]any{"branch": o.Branch}
	}
	return object.Object{
		"apiVersion": registry.GitRepositories.APIVersion(), "kind": registry.GitRepositories.Kind,
		"metadata": map[string]any{"name": name, "namespace": Home}, "spec": spec,
	}, name
}

func ofRepository(url string, o Options) []object.Object {
	source, name := sourceOf(url, o)
	sync := map[string]any{
		"interval": "10m", "path": cmp.Or(o.Path, "./"), "prune": true, "sourceRef": map[string]any{"kind": registry.GitRepositories.Kind, "name": name},
	}
	if o.TargetNamespace != "" {
		sync["targetNamespace"] = o.TargetNamespace
	}
	return []object.Object{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Home}},
		source,
		{
			"apiVersion": registry.Kustomizations.APIVersion(), "kind": registry.Kustomizations.Kind,
			"metadata": map[string]any{"name": name, "namespace": Home}, "spec": sync,
		},
	}
}

// repositoryName makes an object's name of the last part of a repository's address.
func repositoryName(url string) string {
	last := url[strings.LastIndexAny(url, "/:")+1:]
	last = strings.ToLower(strings.TrimSuffix(last, ".git"))
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, last)
	const most = 50
	clean = strings.Trim(clean[:min(len(clean), most)], "-")
	return cmp.Or(clean, "repository")
}
