package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/decrypt"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
)

// RenderFiles renders a directory of the working tree, or reads one file of manifests.
func RenderFiles(ctx context.Context, q Query) (Rendered, error) {
	files, err := readDesired(ctx, q)
	defer files.close()
	if err != nil {
		return Rendered{}, failedRender(err)
	}
	out := Rendered{Objects: files.objects}
	if files.tree != nil && q.Chart == nil {
		out.Encrypted = decrypt.EncryptedSources(ctx, files.tree, files.dir)
	}
	return out, nil
}

// Rendered is what RenderFiles finds.
type Rendered struct {
	Objects   []render.Object
	Encrypted []string // files of which the values of generated Secrets are, as SOPS has encrypted them
}

// failedRender gives an error of readDesired its exit code: a wrong use of the command has its own.
func failedRender(err error) error {
	var wrong *exit.Error
	if errors.As(err, &wrong) {
		return exit.WithCode(wrong.Code, err)
	}
	return exit.WithCode(exit.Render, err)
}

// described are the objects that a command's files describe, with what says where they stand in them.
type described struct {
	objects []render.Object
	file    singleFile  // where tree is nil
	tree    source.Tree // nil for a file
	dir     string      // in the tree
	ends    []func()
}

func (g described) close() {
	for _, end := range g.ends {
		end()
	}
}

func readDesired(ctx context.Context, q Query) (described, error) {
	if q.File != "" {
		return readManifests(q.File, q.In)
	}
	info, err := os.Stat(q.Path)
	switch {
	case err != nil:
		return described{}, fmt.Errorf("render %s: %w", q.Path, local.SystemCause(err))
	case info.IsDir():
		return renderDirectory(ctx, q)
	case q.Chart != nil:
		return described{}, fmt.Errorf("render %s: it is a file, and values are for a Helm chart", q.Path)
	case local.IsKustomization(q.Path):
		q.Path = filepath.Dir(q.Path)
		return renderDirectory(ctx, q)
	}
	return readManifests(q.Path, nil)
}

// readManifests reads a file of what Git wants, of which no object can be described twice, and some must be.
func readManifests(name string, in io.Reader) (described, error) {
	g, err := readFile(name, in)
	if err == nil {
		_, err = adhoc.UniqueObjects(g.objects)
	}
	if err == nil && len(g.objects) == 0 {
		err = fmt.Errorf("read %s: no objects", g.file.name)
	}
	return g, err
}

// renderDirectory renders in a worker process, as the controller does.
func renderDirectory(ctx context.Context, q Query) (described, error) {
	dir := q.Path
	top, below, err := local.LocateRoot(dir)
	if err != nil {
		return described{}, fmt.Errorf("render %s: %w", dir, err)
	}
	tree, err := disk.OpenTree(top)
	if err != nil {
		return described{}, fmt.Errorf("render %s: %w", dir, local.SystemCause(err))
	}
	g := described{dir: below, ends: []func(){func() { _ = tree.Close() }}} // it was only read
	self, err := os.Executable()
	if err != nil {
		return g, fmt.Errorf("find truce itself: %w", err)
	}
	pool := worker.NewPool(worker.Options{Executable: self, Args: []string{worker.Command}, Size: 1, Memory: memory.OfMachine().Build})
	defer pool.Close()
	bases, end, err := local.Bases{Fetch: q.RemoteBases, Servers: q.Servers, Charts: controller.ChartRepositories{}}.Over(pool)
	if err != nil {
		return g, err
	}
	g.ends, g.tree = append(g.ends, end), bases.Over(tree)
	request := render.Request{Files: g.tree, Path: below}
	if q.EnableHelm {
		request.Inflate = &release.Request{}
	}
	if request.Chart, err = chartOf(tree, below, q); err != nil {
		return g, fmt.Errorf("render %s: %w", dir, err)
	}
	r, err := bases.Render(ctx, request)
	if err != nil {
		return g, renamed{err, below, dir}
	}
	if request.Chart == nil && local.SortsByKind(tree, below) {
		adhoc.SortLikeKustomize(r.Objects)
	}
	g.objects = r.Objects
	return g, nil
}

// renamed is an error of a build, with the directory as it was named.
type renamed struct {
	error
	dir, named string
}

func (e renamed) Error() string {
	if rest, ok := strings.CutPrefix(e.error.Error(), "render "+e.dir+": "); ok {
		return "render " + e.named + ": " + rest
	}
	return e.error.Error()
}

func (e renamed) Unwrap() error { return e.error }

// AssessFiles judges the health of the objects in a file. The cause of a failing workload comes from its pods in the same file.
func AssessFiles(q Query) ([]report.Object, error) {
	f := healthAssessment{rules: registry.HealthRules()[q.Rules()], workloads: map[int]object.Object{}}
	err := eachObject(q.File, q.In, f.assess)
	if err == nil && len(f.all) == 0 {
		err = fmt.Errorf("read %s: no objects", q.File)
	}
	for i, workload := range f.workloads {
		o := &f.all[i]
		o.Health = o.Health.With(redact.Message(o.ID, health.PodTrouble(health.PodsOfWorkload(workload, f.pods))))
	}
	return f.all, exit.WithCode(exit.Usage, err)
}

// healthAssessment collects the objects of a file; healthy ones without their manifests.
type healthAssessment struct {
	rules     health.Assessor
	all       []report.Object
	workloads map[int]object.Object // by their place in all: those whose pods may say why
	pods      []object.Object       // that report a cause
}

func (f *healthAssessment) assess(at render.Object) {
	live := at.Data
	o := report.Object{ID: live.ID(), Version: live.GVK().Version, UID: live.UID(), File: at.File, Line: at.Line}
	o.Health = health.Explained(live, f.rules.Assess(live))
	o.Health.Message = redact.Message(o.ID, o.Health.Message)
	switch {
	case o.Health.Cause != "" && o.ID.Kind == "Pod":
		f.pods = append(f.pods, live)
	case o.Health.IsFailing() && o.Health.Cause == "":
		f.workloads[len(f.all)] = live
	}
	f.all = append(f.all, o)
}
