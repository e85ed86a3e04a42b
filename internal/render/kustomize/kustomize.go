// Package kustomize answers: which objects does this kustomization build?
//
// In: a directory with a kustomization file, or one for which Flux would generate it; the edits of the custom resource.
// Out: its objects in the order of the files, each with the file and line of the document that it was made of.
// Promise: gives what `kustomize build` gives. Nothing is fetched, no plug-in is run, and no path outside the tree is read.
// A remote base is read where the tree holds it (upstream).
// Not here: limits on time and memory, which take a process of its own (worker).
package kustomize

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render"
)

// Renderer builds kustomizations. Kustomize keeps its schema for the whole process, so it builds one at a time.
type Renderer struct {
	// Plain, if set, renders directories of plain manifests that Kustomize would give back as they are; it is faster.
	Plain render.Renderer
	// Charts, if set, renders the charts that kustomizations name, for requests that ask for it.
	Charts render.Renderer

	building sync.Mutex
	spent    atomic.Bool
}

// Spent reports whether a build has changed Kustomize's schema for this process: the next build may be wrong.
func (k *Renderer) Spent() bool { return k.spent.Load() }

// Render implements render.Renderer. A build that has begun ends by itself: ctx is looked at before and after.
func (k *Renderer) Render(ctx context.Context, r render.Request) (render.Result, error) {
	r.Path = path.Clean(r.Path)
	plain, build, err := k.prepare(ctx, r)
	if err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	if plain {
		return k.Plain.Render(ctx, r)
	}
	k.building.Lock()
	defer k.building.Unlock()
	if err := ctx.Err(); err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	objects, err := k.run(build)
	if err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	return render.Result{Objects: objects, Rendered: true, Inflated: build.inflation != nil && len(build.inflation.done) > 0}, ctx.Err()
}

// fluxKind is the kind of the custom resource whose builds begin as those of kustomize-controller do.
const fluxKind = "Kustomization"

// build is one kustomization, ready to be built.
type build struct {
	request render.Request
	limits  render.Limits
	files   files
	// file is the kustomization file; it does not exist in the tree if it was generated.
	file string
	root *root
	// manifests are the files whose objects are built.
	manifests []string
	inflation *inflation // nil for none
}

// prepare finds or generates the kustomization and surveys it. plain says that Kustomize is not needed.
func (k *Renderer) prepare(ctx context.Context, r render.Request) (plain bool, b *build, err error) {
	if r.Directory != nil {
		return k.directory(r)
	}
	b = &build{request: r, limits: r.Limits.OrDefault()}
	b.files = files{tree: r.Files, over: map[string][]byte{}, limit: b.limits.FileBytes}
	if b.file, err = render.KustomizationFile(r.Files, r.Path); err != nil {
		return false, nil, err
	}
	if b.file == "" {
		if plain, err = k.generate(b); plain || err != nil {
			return plain, nil, err
		}
	} else if err = b.read(); err != nil {
		return false, nil, err
	}
	return false, b, k.survey(ctx, b)
}

func (k *Renderer) directory(r render.Request) (bool, *build, error) {
	if k.Plain == nil {
		return false, nil, errors.New("plain directories are not supported here")
	}
	if r.HasEdits() {
		return false, nil, errors.New("a plain directory takes no namespace and no edits")
	}
	return true, nil, nil
}

func (k *Renderer) generate(b *build) (plain bool, err error) {
	manifests, roots, err := render.Collect(b.files.tree, b.request.Path)
	if err != nil {
		return false, yamlErrorText(err)
	}
	if k.Plain != nil && len(roots) == 0 && !b.request.HasEdits() {
		return true, nil
	}
	b.file = path.Join(b.request.Path, "kustomization.yaml")
	b.root = generated(b.request.Path, walkOrder(manifests, roots))
	return false, nil
}

func (b *build) read() error {
	data, err := b.files.ReadFile(mountPath(b.file))
	if err != nil {
		return &render.Error{File: b.file, Err: yamlErrorText(err)}
	}
	read := strictFields
	if b.request.Home.Kind == fluxKind {
		read = fluxFields
	}
	b.root, err = newRoot(b.file, data, read)
	return err
}

// survey checks the user's files, then lays the edited kustomization over them.
func (k *Renderer) survey(ctx context.Context, b *build) error {
	s := &inputCheck{files: b.files, root: b.file, seen: map[string]bool{}, moved: map[string]moved{}}
	if b.request.Inflate != nil && k.Charts != nil {
		s.inflation = &inflation{ctx: ctx, request: b.request, charts: k.Charts, done: map[string]inflated{}}
		b.inflation = s.inflation
	}
	if !b.files.Exists(mountPath(b.file)) {
		if err := b.lay(); err != nil {
			return err
		}
	}
	if err := s.walk(b.request.Path, visit{}); err != nil {
		return err
	}
	if err := s.overlay(b); err != nil {
		return err
	}
	b.manifests = s.manifests
	if s.openapi {
		k.spent.Store(true)
	}
	if err := b.root.edit(b.request); err != nil {
		return err
	}
	b.root.lead(s.moved[b.request.Path])
	b.root.takeCharts(s.inflation, b.request.Path)
	b.root.track()
	if err := s.layBases(b); err != nil {
		return err
	}
	return b.lay()
}

// lay puts the kustomization as it stands over the file in the tree.
func (b *build) lay() error {
	data, err := b.root.bytes()
	if err != nil {
		return &render.Error{File: b.file, Err: err}
	}
	b.files.over[b.file] = data
	return nil
}

func (k *Renderer) run(b *build) (objects []render.Object, err error) {
	schema := openapi.GetSchemaVersion()
	defer func() {
		if openapi.GetSchemaVersion() != schema { // by whatever way Kustomize was led to it
			k.spent.Store(true)
		}
		// Kustomize panics on some invalid objects; the data is to blame, not the process.
		if p := recover(); p != nil {
			objects, err = nil, fmt.Errorf("kustomize panicked: %s", redact.WithoutQuoted(fmt.Sprint(p)))
		}
	}()
	options := &krusty.Options{
		Reorder:          krusty.ReorderOptionNone,
		LoadRestrictions: types.LoadRestrictionsNone, // as Flux; the file system is the restriction
		PluginConfig:     types.DisabledPluginConfig(),
	}
	m, err := krusty.MakeKustomizer(options).Run(b.files, mountPath(b.request.Path))
	if err != nil {
		return nil, cleanError(err)
	}
	if m.Size() > b.limits.Objects {
		return nil, fmt.Errorf("%d objects, more than %d: %w", m.Size(), b.limits.Objects, render.ErrLimit)
	}
	return b.objects(m)
}

// cleanError takes our mount point out of Kustomize's messages, and what they quote of the manifests: it may be a Secret's.
func cleanError(err error) error {
	msg := strings.ReplaceAll(err.Error(), mount+"/", "")
	msg = redact.WithoutQuoted(strings.ReplaceAll(msg, mount, "."))
	return &buildError{msg: strings.TrimSpace(msg), cause: err}
}

type buildError struct {
	msg   string
	cause error
}

func (e *buildError) Error() string { return e.msg }
func (e *buildError) Unwrap() error { return e.cause }

var _ render.Renderer = (*Renderer)(nil)
