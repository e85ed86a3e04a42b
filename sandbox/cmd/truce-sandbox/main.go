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

	"golang.org/x/sys/unix"

	"github.com/truce-gitops/truce/sandbox"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == sandbox.VerifyCommand {
		os.Exit(sandbox.VerifyMain(os.Args[2]))
	}
	stdout, err := duplicateFile(os.Stdout)
	if err != nil {
		os.Exit(printError(os.Stderr, err))
	}
	stderr, err := duplicateFile(os.Stderr)
	if err != nil {
		os.Exit(printError(os.Stderr, err))
	}
	os.Exit(runCommand(os.Args[1:], stdout, stderr))
}

// duplicateFile returns a second handle of a file: the sandbox points the first to its log.
func duplicateFile(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func runCommand(args []string, stdout, stderr *os.File) int {
	opts, err := parseOptions(args, stdout)
	if errors.Is(err, errHelp) {
		return exitOK
	}
	if err != nil {
		return printError(stderr, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	if opts.exitWithParent {
		ctx = withParent(ctx)
	}
	err = sandbox.RunCommand(ctx, opts.config, func(r sandbox.Ready) {
		fmt.Fprintf(stdout, "ready kubeconfig=%s server=%s took=%s\n", r.Kubeconfig, r.Server, r.Took.Round(10*time.Millisecond))
	})
	if err != nil {
		return printError(stderr, err)
	}
	return exitOK
}

// printError prints the error on one line.
func printError(stderr *os.File, err error) int {
	fmt.Fprintln(stderr, "truce-sandbox:", strings.Join(strings.Fields(err.Error()), " "))
	if sandbox.IsUsage(err) || errors.As(err, new(*usageError)) {
		return exitUsage
	}
	return exitError
}
