package compose

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/truce-gitops/truce/internal/cli"
)

// Main runs the program and returns its exit code. The hidden commands come before anything else: they are started often and
// must start fast.
func Main(args []string, version string) int {
	program := "truce"
	if len(args) > 0 {
		program, args = filepath.Base(args[0]), args[1:]
	}
	if code, ok := Hidden(args); ok {
		return code
	}
	silence()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	env := cli.Environment{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Program: program, Args: args, Getenv: os.Getenv, Version: version}
	b := backend{version}
	return cli.Execute(ctx, env, cli.Backend{Clusters: b, Repositories: b, Services: b})
}
