// Command truce keeps a Kubernetes cluster equal to Git, field by field, and at peace.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	_ "time/tzdata" // sync windows name time zones, and the image has none of its own

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/compose"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(runProgram(os.Args, version)) }

// runProgram runs the program and returns its exit code. The hidden commands come before anything else: they are started often and must
// start fast.
func runProgram(args []string, version string) int {
	program := "truce"
	if len(args) > 0 {
		program, args = filepath.Base(args[0]), args[1:]
	}
	if code, ok := compose.RunHidden(args); ok {
		return code
	}
	compose.Silence()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	env := cli.Environment{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Program: program, Args: args, Getenv: os.Getenv, Version: version}
	b := compose.Backend{Version: version}
	return cli.Execute(ctx, env, cli.Backend{Clusters: clusters{b}, Repositories: b, Services: b})
}

// clusters opens clusters for the commands.
type clusters struct{ backend compose.Backend }

// Connect implements cli.Clusters.
func (c clusters) Connect(ctx context.Context, t cluster.Target) (*cli.Cluster, error) {
	opened, err := c.backend.Connect(ctx, t)
	if err != nil {
		return nil, err
	}
	return cli.ClusterOf(opened), nil
}
