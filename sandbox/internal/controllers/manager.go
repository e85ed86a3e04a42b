// Package controllers answers: who acts on the cluster's objects?
//
// In: kubeconfigs, key files, the few settings that tests need.
// Out: a running kube-controller-manager and kube-scheduler.
// Promise: upstream's controllers with upstream's names in managedFields and upstream's defaults, but for what manager.go names.
// Not here: the nodes (node), the metrics that the HPA reads (metrics).
package controllers

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// ManagerUser is the name that RBAC's bootstrap policy knows.
const ManagerUser = "system:kube-controller-manager"

// Manager says how kube-controller-manager is to run.
type Manager struct {
	// Kubeconfig is of ManagerUser.
	Kubeconfig string
	// TokenKeyFile signs service account tokens, ClusterCAFile and
	// ClusterKeyFile sign certificate requests.
	TokenKeyFile, ClusterCAFile, ClusterKeyFile string
	// HPASyncPeriod is how often autoscalers are evaluated (upstream 15 s).
	HPASyncPeriod time.Duration
	// HPADownscaleStabilization is how long a lower recommendation must hold
	// before it is followed (upstream 5 min).
	HPADownscaleStabilization time.Duration
}

// ActAs names this process. client-go builds the user agent of every client
// from os.Args[0], and the API server takes the name in managedFields from it;
// one program that is many would otherwise sign every write with its own file
// name. Call it only while no client is being built in another goroutine.
func ActAs(component string) { os.Args[0] = component }

// Run works until the context ends, and then until its controllers are done,
// for at most a second.
func (m Manager) Run(ctx context.Context) error {
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	opts, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	sets := opts.Flags(known, disabled, aliases)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(m.flags()); err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	config, err := opts.Config(ctx, known, disabled, aliases)
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	if err := app.Run(ctx, config.Complete()); err != nil && ctx.Err() == nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	return nil
}

func (m Manager) flags() []string {
	flags := map[string]string{
		"kubeconfig":                       m.Kubeconfig,
		"service-account-private-key-file": m.TokenKeyFile,
		"root-ca-file":                     m.ClusterCAFile,
		"cluster-signing-cert-file":        m.ClusterCAFile,
		"cluster-signing-key-file":         m.ClusterKeyFile,
		// Each controller is its own service account, as clusters run it: audit
		// log and webhooks then tell the autoscaler from the others.
		"use-service-account-credentials": "true",

		// One process, one leader, no port of its own.
		"leader-elect":                "false",
		"secure-port":                 "0",
		"controller-shutdown-timeout": "1s",
		// The default of 20 requests a second would be what a test of a
		// thousand Deployments measures.
		"kube-api-qps":                "2000",
		"kube-api-burst":              "4000",
		"concurrent-deployment-syncs": "10",
		"concurrent-replicaset-syncs": "10",

		"horizontal-pod-autoscaler-sync-period":             m.HPASyncPeriod.String(),
		"horizontal-pod-autoscaler-downscale-stabilization": m.HPADownscaleStabilization.String(),
		// Upstream waits 5 min and 30 s for the load of a start to pass. A
		// simulated pod has none.
		"horizontal-pod-autoscaler-cpu-initialization-period": "1s",
		"horizontal-pod-autoscaler-initial-readiness-delay":   "0s",
	}
	args := make([]string, 0, len(flags))
	for name, value := range flags {
		args = append(args, "--"+name+"="+value)
	}
	return args
}
