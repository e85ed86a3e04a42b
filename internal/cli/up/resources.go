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
	return s.apply(ctx, objects)
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

// home is the namespace of the custom resources that `truce up --repo` makes, as `flux bootstrap` has it.
const home = "flux-system"

func ofRepository(url string, o Options) []object.Object {
	name := repositoryName(url)
	meta := func() map[string]any { return map[string]any{"name": name, "namespace": home} }
	spec := map[string]any{"interval": "1m", "url": url, "ref": map[string]any{"name": "HEAD"}}
	if o.Branch != "" {
		spec["ref"] = map[string]any{"branch": o.Branch}
	}
	sync := map[string]any{
		"interval": "10m", "path": cmp.Or(o.Path, "./"), "prune": true, "sourceRef": map[string]any{"kind": registry.GitRepositories.Kind, "name": name},
	}
	if o.TargetNamespace != "" {
		sync["targetNamespace"] = o.TargetNamespace
	}
	return []object.Object{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": home}},
		{"apiVersion": registry.GitRepositories.APIVersion(), "kind": registry.GitRepositories.Kind, "metadata": meta(), "spec": spec},
		{"apiVersion": registry.Kustomizations.APIVersion(), "kind": registry.Kustomizations.Kind, "metadata": meta(), "spec": sync},
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
