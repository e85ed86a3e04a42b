// Package wire answers: which implementations, put together how?
//
// In: flags, already parsed.
// Out: a controller, or what a command needs, ready to run.
// Promise: the only package that imports children; no decision is made here.
// Not here: everything else.
package wire

import (
	"context"
	"errors"
	"os"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/source/git"
)

// The commands that truce calls itself with.
const (
	renderWorker = "render-worker"
	gitSSH       = "git-ssh"
)

func isUnknown(err error) bool { return errors.Is(err, cluster.ErrUnknownKind) }

// Hidden runs the commands that truce calls itself with. It reports false for all others.
func Hidden(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case renderWorker:
		return worker.Main(&kustomize.Renderer{Plain: plain.Renderer{}}, os.Stdin, os.Stdout), true
	case gitSSH:
		return git.SSHMain(context.Background(), args[1:], os.Stdin, os.Stdout, os.Stderr), true
	}
	return 0, false
}
