package reconcile

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/report"
)

// Queue calls the engine later. controller.Controller implements it (controller/enqueue.go). No method blocks.
type Queue interface {
	// Enqueue has Engine.Object called soon.
	Enqueue(id object.ID)
	// EnqueueAt has Engine.Object called at a time.
	EnqueueAt(id object.ID, at time.Time)
	// EnqueueApp has Engine.App called soon. It is called with no lock held that another method of the engine waits for: to enqueue an app, the
	// controller takes the lock under which it calls the engine, as in Engine.WithdrawRequest and Engine.AppliedObjects.
	EnqueueApp(key app.Key)
	// EnqueueInventory has Engine.WriteInventory called soon.
	EnqueueInventory(key app.Key)
	// EnqueuePods has Engine.ReadPods called at a time, for a workload that does not work.
	EnqueuePods(id object.ID, at time.Time)
	// AppChanged reports that an app's report has changed: its status is written soon.
	AppChanged(key app.Key)
}

// noQueue drops everything.
type noQueue struct{}

func (noQueue) Enqueue(object.ID) {}

func (noQueue) EnqueueAt(object.ID, time.Time) {}

func (noQueue) EnqueueApp(app.Key) {}

func (noQueue) EnqueueInventory(app.Key) {}

func (noQueue) EnqueuePods(object.ID, time.Time) {}

func (noQueue) AppChanged(app.Key) {}

// Observer learns of findings and panics as they happen. controller.Controller implements it. No method blocks.
type Observer interface {
	// OnFinding is called when a finding appears, and when its correction is written.
	OnFinding(n report.FindingEvent)
	// OnRecreate is called when an object was deleted in order to create it as Git has it: what asks for that, such as "spec.force", and the
	// API server's answer to the change.
	OnRecreate(key app.Key, id object.ID, asks string, refused error)
	// OnPrune is called when a run at a revision has deleted objects, and why: journal.LeftGit, or that an action had made them that has failed.
	OnPrune(key app.Key, revision, why string, gone []object.ID)
	// OnPanic is called with each recovered panic: which kind of work, and what it was about.
	OnPanic(work, about string, p *panics.Error)
}

type noObserver struct{}

func (noObserver) OnFinding(report.FindingEvent) {}

func (noObserver) OnRecreate(app.Key, object.ID, string, error) {}

func (noObserver) OnPrune(app.Key, string, string, []object.ID) {}

func (noObserver) OnPanic(string, string, *panics.Error) {}
