// Package compose answers: which implementations, put together how?
//
// In: the options of a controller, or which cluster or repository a command is about.
// Out: a running controller, what a command reads from, or one of the hidden helper processes.
// Promise: everything that it starts it also ends.
// Not here: any rule of what happens to an object (reconcile and decide), the process around a controller (controller/manager), what people
// see (cli, web), the program that joins commands and implementations (cmd/truce).
package compose

import (
	"context"
	"os"

	"github.com/truce-gitops/truce/internal/render/decrypt"
	"github.com/truce-gitops/truce/internal/render/helm"
	"github.com/truce-gitops/truce/internal/render/jqworker"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/render/substitute"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/source/git"
)

// chartsAndKustomizations builds both, each of which may hold the other.
func chartsAndKustomizations() helm.Renderer {
	k := &kustomize.Renderer{Plain: plain.Renderer{}}
	h := helm.Renderer{Builder: k}
	k.Charts = h
	return h
}

// RunHidden runs the commands that truce calls itself with, and what git calls it for. It reports false for all others.
func RunHidden(args []string) (code int, ok bool) {
	if git.IsSSHHelper() {
		return git.SSHMain(context.Background(), args, os.Stdin, os.Stdout, os.Stderr), true
	}
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case worker.Command:
		return worker.RunWorker(substitute.Renderer{Builder: decrypt.Renderer{Builder: chartsAndKustomizations()}}, os.Stdin, os.Stdout), true
	case jqworker.Command:
		return jqworker.WorkerMain(), true
	}
	return 0, false
}
