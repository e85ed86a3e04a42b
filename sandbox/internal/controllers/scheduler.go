package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
)

// SchedulerUser is the name that RBAC's bootstrap policy knows.
const SchedulerUser = "system:kube-scheduler"

// Scheduler is a kube-scheduler whose clients are built and which does not run yet.
type Scheduler struct {
	scheduler *scheduler.Scheduler
	shared    informers.SharedInformerFactory
	dynamic   dynamicinformer.DynamicSharedInformerFactory
	events    events.EventBroadcaster
}

// NewScheduler builds a scheduler with upstream's defaults that lives until the
// context ends. The kubeconfig is of SchedulerUser.
func NewScheduler(ctx context.Context, kubeconfig string) (*Scheduler, error) {
	config, err := clientConfig(kubeconfig, runtime.ContentTypeProtobuf)
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	s := new(Scheduler)
	if err := s.build(ctx, config); err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	return s, nil
}

func (s *Scheduler) build(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), "scheduler"))
	if err != nil {
		return err
	}
	recording, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	name, err := cache.NewInformerName("kube-scheduler")
	if err != nil {
		return err
	}
	s.events = events.NewBroadcaster(&events.EventSinkImpl{Interface: recording.EventsV1()})
	s.shared = scheduler.NewInformerFactory(client, 0, name)
	s.dynamic = dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	recorder := func(name string) events.EventRecorderLogger { return s.events.NewRecorder(scheme.Scheme, name) }
	s.scheduler, err = scheduler.New(ctx, client, s.shared, s.dynamic, recorder, scheduler.WithKubeConfig(config))
	return err
}

// Run schedules until the context that it was made with ends.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.events.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("kube-scheduler: record events: %w", err)
	}
	defer s.events.Shutdown()
	s.shared.Start(ctx.Done())
	s.dynamic.Start(ctx.Done())
	s.shared.WaitForCacheSync(ctx.Done())
	s.dynamic.WaitForCacheSync(ctx.Done())
	if err := s.scheduler.WaitForHandlersSync(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("kube-scheduler: %w", err)
	}
	s.scheduler.Run(ctx)
	return nil
}
