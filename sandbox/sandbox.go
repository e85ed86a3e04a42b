// Package sandbox answers: how do I get a real Kubernetes control plane on this machine, now?
//
// In: a directory and a few settings.
// Out: a kubeconfig and a URL, once the cluster takes work.
// Promise: upstream's API server, controllers and scheduler; loopback only; a second run on the directory finds its objects again.
// Not here: containers. Pods are bound, become ready, are measured and are deleted, but nothing runs.
package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/truce-gitops/truce/sandbox/internal/apiserver"
	"github.com/truce-gitops/truce/sandbox/internal/etcd"
)

// Config says what to start. Use Defaults and change what differs.
type Config struct {
	// Dir holds everything; it must be new, empty, or a sandbox's.
	Dir string
	// Port of the API server on 127.0.0.1; 0 for the last one used, or a free one.
	Port int
	// Nodes is the number of simulated nodes.
	Nodes int
	// HPASyncPeriod is how often autoscalers are evaluated.
	HPASyncPeriod time.Duration
	// HPADownscaleStabilization is how long a lower figure must hold before an
	// autoscaler follows it.
	HPADownscaleStabilization time.Duration
	// PodReadyDelay passes between a pod's start and its being ready.
	PodReadyDelay time.Duration
	// Sync says when a write counts as done.
	Sync Sync
	// AuditLog is a file for the audit log, or empty.
	AuditLog string
	// APIServerFlags are passed on to kube-apiserver: --name=value.
	APIServerFlags []string
}

// Sync says when a write to etcd counts as done.
type Sync = etcd.Sync

// The two kinds of Sync.
const (
	// SyncDisk waits for the disk.
	SyncDisk = etcd.SyncDisk
	// SyncNone does not; for tests.
	SyncNone = etcd.SyncNone
)

// VerifyCommand is the first argument with which Run calls the program that it is in: VerifyMain of the second is to be its exit code.
const VerifyCommand = etcd.VerifyCommand

// VerifyMain reads a database of etcd through, prints what is wrong with it, and returns an exit code.
func VerifyMain(file string) int { return etcd.VerifyMain(file) }

// Defaults are upstream's where upstream has one.
func Defaults() Config {
	return Config{
		Nodes:                     1,
		HPASyncPeriod:             15 * time.Second,
		HPADownscaleStabilization: 5 * time.Minute,
		Sync:                      SyncDisk,
	}
}

// Ready is a cluster that takes work.
type Ready struct {
	// Kubeconfig is the absolute name of a file that makes its reader cluster admin.
	Kubeconfig string
	// Server is the API server's URL.
	Server string
	// Took is the time since Run was called.
	Took time.Duration
}

// RunCommand starts the cluster, calls ready once, and serves until the context ends;
// then it stops everything and returns nil. It may be called once in a process:
// upstream keeps some of its state in package variables. From the call on,
// standard output and standard error of the process go to Dir/sandbox.log.
func RunCommand(ctx context.Context, cfg Config, ready func(Ready)) error {
	began := time.Now()
	c := &cluster{cfg: cfg}
	defer c.release()
	if err := c.prepare(ctx); err != nil {
		return err
	}
	return c.run(ctx, func() {
		ready(Ready{Kubeconfig: c.kubeconfig(), Server: c.server, Took: time.Since(began)})
	})
}

// IsUsage reports whether the error is a mistake of the caller's in Config,
// found before anything was started.
func IsUsage(err error) bool {
	var flag *apiserver.FlagError
	return errors.As(err, &flag)
}
