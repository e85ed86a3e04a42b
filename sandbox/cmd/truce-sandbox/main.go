// Command truce-sandbox runs a real Kubernetes control plane in one process, on
// loopback, with simulated nodes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/truce-gitops/truce/sandbox"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run takes the two files at once: the sandbox points os.Stdout and os.Stderr
// to its log.
func run(args []string, stdout, stderr *os.File) int {
	opts, err := parse(args, stdout)
	if errors.Is(err, errHelp) {
		return exitOK
	}
	if err != nil {
		return fail(stderr, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	if opts.exitWithParent {
		ctx = withParent(ctx)
	}
	err = sandbox.Run(ctx, opts.config, func(r sandbox.Ready) {
		fmt.Fprintf(stdout, "ready kubeconfig=%s server=%s took=%s\n", r.Kubeconfig, r.Server, r.Took.Round(10*time.Millisecond))
	})
	if err != nil {
		return fail(stderr, err)
	}
	return exitOK
}

// fail prints the error on one line.
func fail(stderr *os.File, err error) int {
	fmt.Fprintln(stderr, "truce-sandbox:", strings.Join(strings.Fields(err.Error()), " "))
	if sandbox.IsUsage(err) || errors.As(err, new(*usageError)) {
		return exitUsage
	}
	return exitError
}
