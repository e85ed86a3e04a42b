// Package wire answers: which implementations, put together how?
//
// In: the program's arguments, streams and environment.
// Out: an exit code; between the two, a running controller, an answered command, or one of the hidden helper processes.
// Promise: the only package that knows who is who; everything that it starts it also ends.
// Not here: any rule of what happens to an object (reconcile and the judges), what people see (cli, web).
package wire

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/render/worker"
	"github.com/truce-gitops/truce/internal/source/git"
)

// The hidden commands by which truce runs itself.
const (
	renderWorker = "render-worker"
	gitSSH       = "git-ssh"
)

// Main runs the program and returns its exit code.
func Main(args []string, version string) int {
	if code, hidden := helper(args); hidden {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	env := cli.Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Version: version}
	if len(args) > 0 {
		env.Args = args[1:]
	}
	return cli.Main(ctx, env, cli.Backend{Connect: connect(version), Controller: runController(version), Up: up(version)})
}

// helper runs the hidden commands. They come before anything else, since they are started often and must start fast.
func helper(args []string) (code int, hidden bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case renderWorker:
		return worker.Main(&kustomize.Renderer{Plain: plain.Renderer{}}, os.Stdin, os.Stdout), true
	case gitSSH:
		return git.SSHMain(context.Background(), args[2:], os.Stdin, os.Stdout, os.Stderr), true
	}
	return 0, false
}
