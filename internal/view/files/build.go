package files

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/variables"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/layout"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/view"
)

// BuildApp returns the objects that local files describe through the spec of a Kustomization that is in a file, and those of its members where p
// asks for them, without a cluster. notes say what only the cluster has. Values of Secrets are masked.
func BuildApp(ctx context.Context, key app.Key, p view.Preview, mask redact.Mask) (out []redact.Shown, notes []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find truce itself: %w", err)
	}
	pool := worker.NewPool(worker.Options{Executable: self, Args: []string{worker.Command}, Size: 1, Memory: memory.OfMachine().Build})
	defer pool.Close()
	bases, end, err := local.Bases{Charts: controller.ChartRepositories{}}.Over(pool)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	b := offlineBuild{render: bases}
	err = view.EachMember(view.Member{Key: key, Preview: p}, func(m view.Member) ([]view.Member, error) {
		a, objects, err := b.build(ctx, m)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			masked, _ := mask.With(o.Sensitive).Object(o.Data)
			out = append(out, masked)
		}
		return m.Members(a, objects)
	})
	return out, b.notes, err
}

// offlineBuild renders apps without a cluster.
type offlineBuild struct {
	render render.Renderer
	notes  []string
}

// build returns an app, and the objects that its files describe.
func (b *offlineBuild) build(ctx context.Context, m view.Member) (app.App, []desired.Object, error) {
	cr, err := m.Preview.Given(registry.Kustomizations, m.Key)
	if err != nil {
		return app.App{}, nil, err
	}
	a := flux.Kustomizations{}.App(cr, policy.Policy{})
	if len(a.Problems) > 0 {
		return a, nil, exit.WithCode(exit.Render, fmt.Errorf("%s: %s: %s", a.Key, a.Problems[0].Field, a.Problems[0].Reason))
	}
	if m.Preview.Dir == "" {
		return a, nil, exit.WithCode(exit.Usage, fmt.Errorf("%s: the files of its %s are not known without a cluster: name their directory with --local-sources %s/%s/%s=DIR",
			a.Key, a.Source, a.Source.Kind, a.Source.Namespace, a.Source.Name))
	}
	objects, err := b.objects(ctx, a, m.Preview)
	return a, objects, exit.WithCode(exit.Render, err)
}

func (b *offlineBuild) objects(ctx context.Context, a app.App, p view.Preview) ([]desired.Object, error) {
	tree, below, err := p.OpenTree()
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Close() }() // it was only read
	a.Path = below
	request, _, err := layout.RequestOf(tree.Snapshot(), a)
	if err != nil {
		return nil, err
	}
	if request.Variables, err = b.variables(a, p); err != nil {
		return nil, err
	}
	if a.Decryption.IsSet() {
		b.notes = append(b.notes, fmt.Sprintf("%s: encrypted files stay encrypted: the keys are in the cluster", a.Key))
	}
	rendered, err := b.render.Render(ctx, request)
	if err != nil {
		return nil, err
	}
	a.DefaultNamespace.Name = cmp.Or(a.DefaultNamespace.Name, "default") // as in kubectl
	set, err := desired.Normalize(rendered.Objects, a, offlineScope)
	set.KnowSecrets(redact.KnownOrNil(rendered.Secrets))
	return set.Objects, err
}

// offlineScope knows Kubernetes' own kinds, and those that truce reads.
func offlineScope(gvk object.GVK) desired.Scope {
	if slices.ContainsFunc(registry.CustomResources(), func(own object.GVK) bool { return own.Group == gvk.Group && own.Kind == gvk.Kind }) {
		return desired.Namespaced
	}
	return adhoc.BuiltinScope(gvk)
}

// variables are those that the custom resource has itself. An expression of another one stays as it is written.
func (b *offlineBuild) variables(a app.App, p view.Preview) (*variables.Set, error) {
	var unread []string
	set, err := variables.CollectSet(a.PostBuild, func(ref variables.Reference) (map[string]string, error) {
		unread = append(unread, ref.Kind+" "+ref.Name)
		return nil, nil
	})
	if len(unread) > 0 {
		b.notes = append(b.notes, fmt.Sprintf("%s: variables of %s are not known without a cluster", a.Key, strings.Join(unread, ", ")))
	}
	switch {
	case p.Strict && set == nil && a.PostBuild.IsSet():
		set = &variables.Set{}
	case !p.Strict && set != nil:
		set.Unknown = variables.KeepUnknown
	}
	return set, err
}
