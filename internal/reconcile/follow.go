package reconcile

import (
	"context"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// begunOperation is the automated operation that this process has begun last, or gone on with. Its zero value is none.
type begunOperation struct {
	key     string // see operationKey
	content string // what it brings out, for memory alone, see contents
}

// noteBegun notes which automated operation the run is a part of.
func (r *appRun) noteBegun() {
	if r.purpose != rollingOut || r.asked.Rollout != app.IfChanged || r.asked.SyncRequest.Token != "" {
		return
	}
	content, _ := r.contents()
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.begun = begunOperation{r.operationKey(), content}
}

// followOperation has the automated operation that is under way go on with the revision that the run compares, if that describes the same objects and hooks: as
// in Argo CD, a commit that is about others does not end it. It reports whether the operation goes on.
func (r *appRun) followOperation(ctx context.Context) (bool, error) {
	o, open := r.openOperation()
	if !open {
		return false, nil
	}
	content, recorded := r.contents()
	next := r.inventory
	op := &next.Operation
	r.state.mu.Lock()
	begun := r.state.begun
	r.state.mu.Unlock()
	same := begun.content == content
	if o.IsLeft {
		begun.key, same = op.Key, op.Content == recorded && op.Terminated == ""
	}
	if !same {
		return false, nil
	}
	if op.Key == begun.key && op.Key != "" && op.Key != r.operationKey() {
		op.Key, op.Content = r.operationKey(), recorded
		if err := r.engine.save(ctx, next); err != nil {
			return false, &stageError{report.RecordFailed, err}
		}
		r.inventory = next
	}
	if !o.IsLeft {
		r.report.Rollout.Revision = r.report.Revision
	}
	return true, nil
}

// contents are hashes that are the same for revisions that describe the same objects, and the same hooks of an operation. One is also over what Secrets hold, for
// memory alone: a hash of a guessable value would reveal it. In the other, which is recorded, that counts by where it comes from.
func (r *appRun) contents() (inMemory, recorded string) {
	sources := r.sourcesOfSecrets()
	var all, open []string
	add := func(o desired.Object) {
		content, from := o.Digest, o.Digest
		if from == "" {
			content, from = desired.ObjectDigest(o.Data), sources
		}
		id := o.ID.String()
		all, open = append(all, id, content), append(open, id, from)
	}
	for _, o := range r.set.Objects {
		add(o)
	}
	for _, h := range r.set.Hooks {
		if isOfOperation(h) {
			add(h.Object)
		}
	}
	return shortKey(all...), shortKey(open...)
}

// isOfOperation reports whether a hook is run by an operation.
func isOfOperation(h desired.Hook) bool {
	return slices.ContainsFunc(syncEvents, func(e hook.Event) bool { return slices.Contains(h.At.Moments, string(e)) })
}

// stopFormer deletes the objects of the hooks that run of an operation whose place this one takes, and that are no hooks of this one.
func (r *appRun) stopFormer(ctx context.Context, former inventory.Operation, own []hook.Hook) error {
	if former.Ended || former.Key == r.operationKey() {
		return nil
	}
	running := slices.DeleteFunc(runningHooks(former), func(id object.ID) bool {
		return slices.ContainsFunc(own, func(h hook.Hook) bool { return h.Object.ID() == id })
	})
	if err := r.engine.deleteHooks(ctx, r.app, r.access, running); err != nil {
		return &stageError{report.ClusterFailed, fmt.Errorf("stop the hooks of the operation before: %w", err)}
	}
	return nil
}

// dropFormer stops the hooks of the operation whose place an automated one without hooks takes, and removes it from the record.
func (r *appRun) dropFormer(ctx context.Context) error {
	former := r.inventory.Operation
	if r.purpose != rollingOut || r.app.Policy.Mode != policy.Enforce || r.asked.SyncRequest.Token != "" || former.Key == "" || former.Ended || former.Key == r.operationKey() {
		return nil
	}
	if err := r.stopFormer(ctx, former, nil); err != nil {
		return err
	}
	r.engine.releaseWaits.waitsNoMore(r.app.Key)
	r.engine.awaitHook(r.app.Key, nil)
	next := r.inventory
	next.Operation = withoutOperation(former)
	if err := r.engine.save(ctx, next); err != nil {
		return &stageError{report.RecordFailed, err}
	}
	r.inventory = next
	return nil
}
