package controllers

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/config"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
)

// SchedulerUser is the name that RBAC's bootstrap policy knows.
const SchedulerUser = "system:kube-scheduler"

// Scheduler is a kube-scheduler whose clients are built and which does not run yet.
type Scheduler struct {
	config    *config.CompletedConfig
	scheduler *scheduler.Scheduler
}

// NewScheduler builds a scheduler that lives until the context ends. The
// kubeconfig is of SchedulerUser.
func NewScheduler(ctx context.Context, kubeconfig string) (*Scheduler, error) {
	opts := options.NewOptions()
	var err error
	if opts.InformerName, err = cache.NewInformerName("kube-scheduler"); err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	// One process, one leader, no port of its own.
	for _, flag := range [][3]string{
		{"deprecated", "kubeconfig", kubeconfig},
		{"deprecated", "kube-api-qps", "2000"},
		{"deprecated", "kube-api-burst", "4000"},
		{"leader election", "leader-elect", "false"},
		{"secure serving", "secure-port", "0"},
	} {
		if err := opts.Flags.FlagSet(flag[0]).Set(flag[1], flag[2]); err != nil {
			return nil, fmt.Errorf("kube-scheduler: flag %s: %w", flag[1], err)
		}
	}
	config, sched, err := app.Setup(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	return &Scheduler{config: config, scheduler: sched}, nil
}

// Run schedules until the context that it was made with ends.
func (s *Scheduler) Run(ctx context.Context) error {
	// app.Run has no good end: it returns an error even when it was told to stop.
	if err := app.Run(ctx, s.config, s.scheduler); ctx.Err() == nil {
		return fmt.Errorf("kube-scheduler: %w", err)
	}
	return nil
}
