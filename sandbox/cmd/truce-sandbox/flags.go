package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/sandbox"
)

const help = `truce-sandbox runs a real Kubernetes control plane in one process: etcd,
kube-apiserver, kube-controller-manager, kube-scheduler, simulated nodes and the
metrics API. It listens on 127.0.0.1 only.

Usage:
  truce-sandbox --dir DIR [flags] [-- --apiserver-flag=value ...]

When the cluster takes work, one line is printed:
  ready kubeconfig=DIR/kubeconfig server=https://127.0.0.1:PORT took=1.9s
Logs are in DIR/sandbox.log. SIGTERM or Ctrl-C ends it within 5 s; started again
with the same DIR it finds its objects.

Annotations on a pod template (what becomes of the pods):
  sandbox.truce.dev/ready: "never"     running, but never ready
  sandbox.truce.dev/crash: "true"      CrashLoopBackOff
  sandbox.truce.dev/exit-code: "1"     a pod that ends (restartPolicy other than
                                       Always) fails instead of succeeding
Annotations on a Deployment, StatefulSet, ReplicaSet or DaemonSet (what the
metrics API, and so the autoscaler, sees):
  sandbox.truce.dev/cpu: 90m           of each running pod; also .../memory
  sandbox.truce.dev/cpu-total: 400m    shared equally by its running pods; also
                                       .../memory-total

Exit codes: 0 ended by a signal, 1 an error, 2 wrong usage.

Flags:
`

var errHelp = errors.New("help was asked for")

// usageError is a mistake on the command line.
type usageError struct{ cause error }

func (e *usageError) Error() string { return e.cause.Error() + " (see --help)" }
func (e *usageError) Unwrap() error { return e.cause }

type options struct {
	config         sandbox.Config
	exitWithParent bool
}

// parseOptions reads the command line. Help is written to out and is errHelp.
func parseOptions(args []string, out io.Writer) (options, error) {
	o := options{config: sandbox.Defaults()}
	c := &o.config
	fsync := true
	var forward []string
	flags := pflag.NewFlagSet("truce-sandbox", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&c.Dir, "dir", "", "directory for everything: kubeconfig, keys, data, log; new, empty or a sandbox's (required)")
	flags.IntVar(&c.Port, "port", 0, "port of the API server; 0 for the one used last in this directory, or a free one")
	flags.IntVar(&c.Nodes, "nodes", c.Nodes, "number of simulated nodes")
	flags.DurationVar(&c.HPASyncPeriod, "hpa-sync-period", c.HPASyncPeriod, "how often autoscalers are evaluated")
	flags.DurationVar(&c.HPADownscaleStabilization, "hpa-downscale-stabilization", c.HPADownscaleStabilization, "how long a lower figure must hold before an autoscaler follows it")
	flags.DurationVar(&c.PodReadyDelay, "pod-ready-delay", 0, "time between a pod's start and its being ready")
	flags.BoolVar(&fsync, "fsync", true, "wait for the disk at each write; false is faster, and loses data with the machine, not with the process")
	flags.StringVar(&c.AuditLog, "audit-log", "", "append one line of JSON for each request to this file: who, what, which object, user agent")
	flags.StringArrayVar(&forward, "apiserver-flag", nil, "name=value passed on to kube-apiserver; may be repeated; or all after --")
	flags.BoolVar(&o.exitWithParent, "exit-with-parent", false, "end when the process that started this one ends, however it ends")
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(out, help, flags.FlagUsages())
		return o, errHelp
	}
	if err != nil {
		return o, &usageError{err}
	}
	if !fsync {
		c.Sync = sandbox.SyncNone
	}
	return o, o.complete(flags, forward)
}

// complete adds what is passed on and checks what cannot be right.
func (o *options) complete(flags *pflag.FlagSet, forward []string) error {
	c := &o.config
	for _, flag := range forward {
		c.APIServerFlags = append(c.APIServerFlags, "--"+flag)
	}
	own := flags.Args()
	if dash := flags.ArgsLenAtDash(); dash >= 0 {
		own, c.APIServerFlags = own[:dash], append(c.APIServerFlags, own[dash:]...)
	}
	switch {
	case len(own) > 0:
		return usageErrorf("unexpected argument %q", own[0])
	case c.Dir == "":
		return usageErrorf("--dir is required")
	case c.Port < 0 || c.Port > 65535:
		return usageErrorf("--port %d is no port", c.Port)
	case c.Nodes < 0:
		return usageErrorf("--nodes %d is negative", c.Nodes)
	case c.HPASyncPeriod <= 0:
		return usageErrorf("--hpa-sync-period %s is not above 0", c.HPASyncPeriod)
	case c.HPADownscaleStabilization < 0:
		return usageErrorf("--hpa-downscale-stabilization %s is negative", c.HPADownscaleStabilization)
	case c.PodReadyDelay < 0:
		return usageErrorf("--pod-ready-delay %s is negative", c.PodReadyDelay)
	case c.AuditLog == "":
		return nil
	}
	var err error
	c.AuditLog, err = filepath.Abs(c.AuditLog)
	return err
}

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }
