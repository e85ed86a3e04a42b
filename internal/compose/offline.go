package compose

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
)

// renderAdHoc renders what a command names: a directory of the working tree, or one file of manifests.
func renderAdHoc(ctx context.Context, q cli.AdHoc) ([]render.Object, error) {
	files, err := wanted(ctx, q)
	defer files.close()
	return files.objects, failed(cli.ExitRender, err)
}

// failed gives an error its exit code.
func failed(code cli.Exit, err error) error {
	if err == nil {
		return nil
	}
	return &cli.ExitError{Code: code, Err: err}
}

// described are the objects that a command's files describe, with what says where they stand in them.
type described struct {
	objects []render.Object
	file    oneFile     // where tree is nil
	tree    source.Tree // nil for a file
	dir     string      // in the tree
	ends    []func()
}

func (g described) close() {
	for _, end := range g.ends {
		end()
	}
}

func wanted(ctx context.Context, q cli.AdHoc) (described, error) {
	if q.File != "" {
		return describing(q.File, q.In)
	}
	info, err := os.Stat(q.Path)
	switch {
	case err != nil:
		return described{}, fmt.Errorf("render %s: %w", q.Path, local.Cause(err))
	case info.IsDir():
		return renderDirectory(ctx, q.Path, q.RemoteBases)
	case local.IsKustomization(q.Path):
		return renderDirectory(ctx, filepath.Dir(q.Path), q.RemoteBases)
	}
	return describing(q.Path, nil)
}

// describing reads a file of what Git wants, of which no object can be described twice, and some must be.
func describing(name string, in io.Reader) (described, error) {
	g, err := fromFile(name, in)
	if err == nil {
		_, err = adhoc.UniqueObjects(g.objects)
	}
	if err == nil && len(g.objects) == 0 {
		err = fmt.Errorf("read %s: no objects", g.file.name)
	}
	return g, err
}

// renderDirectory renders in a worker process, as the controller does.
func renderDirectory(ctx context.Context, dir string, remoteBases bool) (described, error) {
	top, below, err := local.Locate(dir)
	if err != nil {
		return described{}, fmt.Errorf("render %s: %w", dir, err)
	}
	tree, err := disk.Open(top)
	if err != nil {
		return described{}, fmt.Errorf("render %s: %w", dir, local.Cause(err))
	}
	g := described{dir: below, ends: []func(){func() { _ = tree.Close() }}} // it was only read
	self, err := os.Executable()
	if err != nil {
		return g, fmt.Errorf("find truce itself: %w", err)
	}
	pool := worker.NewPool(worker.Options{Executable: self, Args: []string{worker.Command}, Size: 1, Memory: memory.OfMachine().Build})
	defer pool.Close()
	bases, end, err := local.Bases{Fetch: remoteBases}.Over(pool)
	if err != nil {
		return g, err
	}
	g.ends, g.tree = append(g.ends, end), bases.Over(tree)
	r, err := bases.Render(ctx, render.Request{Files: g.tree, Path: below})
	if err != nil {
		return g, renamed{err, below, dir}
	}
	if local.SortsByKind(tree, below) {
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

// assessAdHoc judges the health of objects in a file. Why a workload does not work, its pods in the same file tell.
func assessAdHoc(_ context.Context, q cli.AdHoc) ([]report.Object, error) {
	f := failing{rules: assessors()[q.Rules()], workloads: map[int]object.Object{}}
	err := eachOf(q.File, q.In, f.assess)
	if err == nil && len(f.all) == 0 {
		err = fmt.Errorf("read %s: no objects", q.File)
	}
	for i, workload := range f.workloads {
		o := &f.all[i]
		o.Health = o.Health.With(redact.Message(o.ID, health.PodTrouble(health.PodsOfWorkload(workload, f.pods))))
	}
	return f.all, failed(cli.ExitUsage, err)
}

// failing is what is known of the objects of a file; of those that work, no more than that.
type failing struct {
	rules     health.Assessor
	all       []report.Object
	workloads map[int]object.Object // by their place in all: those whose pods may say why
	pods      []object.Object       // that report a cause
}

func (f *failing) assess(at render.Object) {
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
