package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// rendered answers each request with ConfigMaps of these names, or with an error.
type rendered struct {
	names []string
	err   error
}

func (r rendered) Render(context.Context, render.Request) (render.Result, error) {
	var out render.Result
	for _, name := range r.names {
		meta := map[string]any{"name": name, "namespace": "shop"}
		out.Objects = append(out.Objects, render.Object{Data: object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}})
	}
	return out, r.err
}

// namespaced says of every kind that its objects lie in a namespace, or fails.
type namespaced struct{ err error }

func (n namespaced) ScopeOf(context.Context, object.GVK) (desired.Scope, error) {
	return desired.Namespaced, n.err
}

// TestNothingIsPrunedByACachedRenderAlone: a fresh one has to name the same objects, whatever their number.
func TestNothingIsPrunedByACachedRenderAlone(t *testing.T) {
	unserved := errors.New("the server does not answer")
	for name, c := range map[string]struct {
		cached     []string
		fresh      rendered
		built      bool // the first render was no cached one
		allowEmpty bool
		scope      error
		unanswered []string // the API server has no answer of it
		inflate    bool     // what the templates of kustomizations' charts ask for, of which there are some if inflated
		inflated   bool
		reason     report.Reason
		want       string
	}{
		"the same objects":        {cached: []string{"a", "b"}, fresh: rendered{names: []string{"b", "a"}}},
		"as many, and others":     {cached: []string{"a", "b"}, fresh: rendered{names: []string{"a", "c"}}, reason: report.PruneHeld, want: "a fresh render names ConfigMap shop/c"},
		"fewer":                   {cached: []string{"a", "b"}, fresh: rendered{names: []string{"a"}}, reason: report.PruneHeld, want: "the cached render names ConfigMap shop/b"},
		"a render that was built": {cached: []string{"a"}, fresh: rendered{names: []string{"b"}}, built: true},
		"no object at all":        {built: true, reason: report.PruneHeld, want: "describes no object at all"},
		"an app that may be empty": {
			built: true, allowEmpty: true,
		},
		"a fresh render that fails":     {cached: []string{"a"}, fresh: rendered{err: unserved}, reason: report.RenderFailed, want: unserved.Error()},
		"an object twice":               {cached: []string{"a"}, fresh: rendered{names: []string{"a", "a"}}, reason: report.RenderFailed, want: "described twice"},
		"a chart that may lack objects": {cached: []string{"a"}, built: true, unanswered: []string{"metrics.k8s.io/v1beta1"}, reason: report.PruneHeld, want: "no answer of metrics.k8s.io/v1beta1"},
		"charts of kustomizations":      {cached: []string{"a"}, built: true, inflate: true, inflated: true, unanswered: []string{"metrics.k8s.io/v1beta1"}, reason: report.PruneHeld, want: "no answer of"},
		"kustomizations without charts": {cached: []string{"a"}, built: true, inflate: true, unanswered: []string{"metrics.k8s.io/v1beta1"}},
		"a kind that is not known":      {cached: []string{"a"}, fresh: rendered{names: []string{"a"}}, scope: unserved, reason: report.ClusterFailed, want: unserved.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			r := &appRun{app: app.App{AllowEmpty: c.allowEmpty}}
			r.request.Parts = []render.Request{{}, {Chart: &release.Request{Unanswered: c.unanswered}}}
			if c.inflate {
				r.request.Parts[1] = render.Request{Inflate: &release.Request{Unanswered: c.unanswered}}
			}
			r.engine = NewEngine(Dependencies{Fresh: c.fresh, Scope: namespaced{c.scope}}, nil)
			before, err := rendered{names: c.cached}.Render(t.Context(), render.Request{})
			if err != nil {
				t.Fatal(err)
			}
			before.Rendered, before.Inflated = c.built, c.inflated
			r.rendered = renderingOf(before)
			set, err := desired.Normalize(before.Objects, r.app, func(object.GVK) desired.Scope { return desired.Namespaced })
			if err != nil {
				t.Fatal(err)
			}
			r.rendered.settled(set)

			err = r.confirmRender(t.Context())
			var f *stageError
			switch {
			case c.reason == "" && err != nil:
				t.Errorf("got %v, want a prune", err)
			case c.reason != "" && (!errors.As(err, &f) || f.reason != c.reason || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %s: %s", err, c.reason, c.want)
			case c.unanswered != nil && err != nil && outlook(f.reason, err) != live.Passing:
				t.Error("an answer that is missing is no reason to wait until the interval")
			}
		})
	}
}

// cached is a cache that holds every render, or none.
type cached bool

func (c cached) Holds(render.Request) bool { return bool(c) }

// TestAnAppIsTouchedUnlessItsRenderIsKnown: what is not known is taken for touched.
func TestAnAppIsTouchedUnlessItsRenderIsKnown(t *testing.T) {
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	files := given.Files("app/a.yaml", "kind: ConfigMap")
	for name, c := range map[string]struct {
		cache cached
		runs  bool // the app has run
		path  string
		want  bool
	}{
		"a known render":          {true, true, "app", false},
		"an unknown render":       {false, true, "app", true},
		"an app that never ran":   {true, false, "app", true},
		"a directory that is not": {true, true, "other", true},
	} {
		e := NewEngine(Dependencies{Cache: c.cache}, nil)
		if c.runs {
			e.state(key).app = app.App{Key: key, Path: c.path, Layout: app.PlainLayout}
		}
		if got := e.MayChange(key, source.Artifact{Files: files}); got != c.want {
			t.Errorf("%s: touched %t", name, got)
		}
	}
	e := NewEngine(Dependencies{Cache: cached(true)}, nil)
	e.state(key)
	if !e.MayChange(key, source.Artifact{Files: files}) {
		t.Error("an app of which only the name is known is touched")
	}
}

// TestAPanicStaysOnItsObject until the object is judged again: its app reports it, whatever has panicked.
func TestAPanicStaysOnItsObject(t *testing.T) {
	owner := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	var changed []app.Key
	counted := &panicCounter{}
	e := NewEngine(Dependencies{Observer: counted}, nil)
	e.queue = queueFuncs{report: func(key app.Key) { changed = append(changed, key) }}
	r := &managedObject{id: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "bomb"}, owner: owner}
	w := &objectReconcile{engine: e, managed: r}
	p := panics.CaughtError("boom")
	if err := w.panicked(p); !errors.Is(err, p) {
		t.Errorf("returned %v", err)
	}
	if r.problem != p.Error() || len(changed) != 1 || changed[0] != owner || counted.newest != "object ConfigMap shop/bomb boom" {
		t.Errorf("problem %q, changed %v, counted %q", r.problem, changed, counted.newest)
	}
}
