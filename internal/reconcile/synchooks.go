package reconcile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// syncEvents are the phases of an operation at which hooks are run, in their order.
var syncEvents = []hook.Event{hook.PreSync, hook.SyncTime, hook.PostSync, hook.SyncFail}

// syncMarks are the annotations, one of which makes an object a hook of an operation.
var syncMarks = []string{"argocd.argoproj.io/hook", helmMark}

// syncHooks are the hooks of one operation: a new revision that is brought out, or what an order asks for. How far they have come is in the app's
// inventory.
type syncHooks struct {
	run     *appRun
	all     []hook.Hook // by their Index
	keys    []string    // in the inventory, by the same
	runs    map[int]hook.Run
	failing bool // the operation has failed, and its hooks for that are run
}

// runsHooks reports whether this run is a part of an operation that has hooks. An order about some of the objects has none.
func (r *appRun) runsHooks() bool {
	order := r.app.SyncRequest
	return r.purpose == rollingOut && r.app.Policy.Mode == policy.Enforce && len(order.Objects) == 0 && order.Hooks != hook.SkipHooks && len(r.set.Hooks) > 0
}

// beginSync runs the hooks that come before the objects of an operation, unless the operation ends there.
func (r *appRun) beginSync(ctx context.Context) error {
	if err := r.heedTermination(ctx); err != nil {
		return err
	}
	r.refuseIfAboutNothing()
	if !r.runsHooks() {
		return r.dropFormer(ctx)
	}
	if err := r.permitHooks(ctx); err != nil {
		return err
	}
	if err := r.makeNamespace(ctx); err != nil {
		return err
	}
	r.report.Images = r.rendered.images
	former := r.inventory.Operation
	r.takeUpOperation()
	r.hooks = r.newSyncHooks(syncEvents)
	if err := r.stopFormer(ctx, former, r.hooks.all); err != nil {
		return err
	}
	if op := r.inventory.Operation; op.Cause != "" && !op.Ended {
		return r.hooks.afterFailure(ctx, &stageError{r.hooks.failureReason(), errors.New(op.Cause)})
	}
	return r.hooks.runPhase(ctx, hook.PreSync)
}

// failureReason is why the operation has failed, where that is known from how its hooks have run.
func (s *syncHooks) failureReason() report.Reason {
	for _, h := range hook.HooksOf(s.all, hook.PostSync) {
		if s.runs[h.Index].Phase == hook.Failed {
			return report.HookFailed
		}
	}
	return report.ApplyFailed
}

// permitHooks refuses the operation if one of its hooks may not be made.
func (r *appRun) permitHooks(ctx context.Context) error {
	for _, h := range r.set.Hooks {
		why, err := r.refused(ctx, h.Object)
		if err != nil {
			return &stageError{report.ClusterFailed, fmt.Errorf("ask whether %s may apply hook %s: %w", r.app.Account.User(), h.ID, err)}
		}
		if why != "" {
			return &stageError{report.ApplyFailed, fmt.Errorf("%s:%d: hook %s: %s", h.File, h.Line, h.Data.ShownID(), why)}
		}
	}
	return nil
}

// takeUpOperation goes on with the operation that the inventory names, or begins one. One that has failed begins again with each further try; when
// there is none left, what has run is not run again.
func (r *appRun) takeUpOperation() {
	was, key := r.inventory.Operation, r.operationKey()
	next := inventory.Operation{Key: key, Began: r.report.Rollout.Begun.UTC(), Commit: r.artifact.Commit, Left: leftHooks(was)}
	if r.asked.SyncRequest.Token == "" {
		_, next.Content = r.contents()
	}
	switch {
	case was.Key != key:
	case !was.Ended || was.Cause == "" || !r.triesAgain(was):
		r.report.Rollout.Begun = was.Began
		return
	default:
		next.Tries = was.Tries + 1
	}
	r.inventory.Operation = next
	r.engine.releaseWaits.waitsNoMore(r.app.Key)
	r.engine.awaitHook(r.app.Key, nil)
}

// triesAgain reports whether a failed operation begins again now: a run may come before the pause is over, for another reason.
func (r *appRun) triesAgain(failed inventory.Operation) bool {
	first, backoff := r.retries()
	pause, again := backoff.Pause(first, failed.Tries+1)
	return again && first > 0 && !r.engine.Now().Before(failed.Failed.Add(pause))
}

// operationKey is the same in every run of an operation, also of another process.
func (r *appRun) operationKey() string {
	order := r.asked.SyncRequest
	asked := "the revision"
	if order.Token != "" {
		asked = order.Token + " " + strconv.FormatInt(order.StartedAt.Unix(), 10)
	}
	return shortKey(r.app.UID, asked, r.rolloutKey())
}

// revisionKey is the same in every operation that brings out the same.
func (r *appRun) revisionKey() string { return shortKey(r.app.UID, r.rolloutKey()) }

func shortKey(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(sum[:8])
}

// newSyncHooks are the hooks of events, with how they have run so far.
func (r *appRun) newSyncHooks(events []hook.Event) *syncHooks {
	s := &syncHooks{run: r, runs: map[int]hook.Run{}}
	for _, h := range r.set.Hooks {
		for _, moment := range h.At.Moments {
			if event := hook.Event(moment); slices.Contains(events, event) {
				s.add(h, event)
			}
		}
	}
	return s
}

// add adds a hook at one of its moments: those of a phase are in their order already.
func (s *syncHooks) add(h desired.Hook, event hook.Event) {
	one := hook.Hook{
		Index: len(s.all), Path: fmt.Sprintf("%s:%d", h.File, h.Line), Name: fmt.Sprintf("%06d", len(s.all)), Weight: h.At.Weight, Events: []hook.Event{event},
		Object: h.Data.Clone(),
	}
	for _, when := range h.At.Deleted {
		one.Policies = append(one.Policies, hook.DeletePolicy(when))
	}
	if h.Data.IsGenerated() {
		one.Object.Metadata()["name"] = s.generatedName(h, event)
	}
	key := string(event) + " " + one.Object.ID().String()
	if slices.Contains(endEvents, event) {
		one.Policies = endPolicies(one.Policies)
	}
	if was, ran := s.run.inventory.Operation.Hooks[key]; ran {
		s.runs[one.Index] = hook.Run(was)
	}
	s.all, s.keys = append(s.all, one), append(s.keys, key)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// generatedName is the name that Argo CD makes of generateName: the same in every run of an operation.
func (s *syncHooks) generatedName(h desired.Hook, event hook.Event) string {
	const enough = 7
	commit := s.run.artifact.Commit
	if slices.Contains(syncEvents, event) {
		commit = cmp.Or(s.run.inventory.Operation.Commit, commit)
	}
	revision := notInNames.ReplaceAllString(strings.ToLower(commit), "")
	return fmt.Sprintf("%s%s-%s-%d", h.Data.StringAt("metadata", "generateName"), revision[:min(enough, len(revision))],
		strings.ToLower(string(event)), s.run.inventory.Operation.Began.Unix())
}

// runPhase runs the hooks of a phase. The error is InProgress while one of them is waited for.
func (s *syncHooks) runPhase(ctx context.Context, event hook.Event) error {
	return s.runHooks(ctx, event, hook.HooksOf(s.all, event))
}

// runWave runs the hooks that come with the objects of a wave; s may be nil.
func (s *syncHooks) runWave(ctx context.Context, wave int) error {
	if s == nil {
		return nil
	}
	all := slices.DeleteFunc(hook.HooksOf(s.all, hook.SyncTime), func(h hook.Hook) bool { return h.Weight != wave })
	return s.runHooks(ctx, hook.SyncTime, all)
}

func (s *syncHooks) runHooks(ctx context.Context, event hook.Event, all []hook.Hook) error {
	if len(all) == 0 {
		return nil
	}
	r := s.run
	defer s.report()
	err := r.advanceHooks(ctx, hooks.Runner{
		Kind:  hooks.Kind{Marks: syncMarks, Manager: ownership.Manager, Former: hooks.FormerApplied, Order: hooks.ByWave, Owner: hookOwner(r.app)},
		Event: event, Hooks: all, Namespace: r.app.DefaultNamespace.Name, Labels: r.app.Labels, Health: r.engine.Health[r.app.Health], Recorder: s,
	}, s.runs)
	if err != nil {
		return err
	}
	return s.Record(ctx, s.runs)
}

// Record implements hooks.Recorder.
func (s *syncHooks) Record(ctx context.Context, runs map[int]hook.Run) error {
	op := s.run.inventory.Operation
	for i, run := range runs {
		run.Message = s.run.redacted(run.Message)
		op = op.With(s.keys[i], run)
	}
	return s.save(ctx, op)
}

func (s *syncHooks) save(ctx context.Context, op inventory.Operation) error {
	r := s.run
	next := r.inventory
	next.Operation = op
	if err := r.engine.save(ctx, next); err != nil {
		return &stageError{report.RecordFailed, err}
	}
	r.inventory = next
	return nil
}

// report says how the hooks have run.
func (s *syncHooks) report() {
	o := &s.run.report.Rollout
	o.Hooks = nil
	for _, event := range syncEvents {
		for _, h := range hook.HooksOf(s.all, event) {
			run := s.runs[h.Index]
			if run.Phase == hook.NotRun {
				continue
			}
			run.Message = s.run.redacted(run.Message)
			o.Hooks = append(o.Hooks, hook.Outcome{ID: h.Object.ID(), Version: h.Object.GVK().Version, Event: event, Run: run})
		}
	}
}

// endSync waits for the objects where hooks come after them, and runs those.
func (r *appRun) endSync(ctx context.Context) error {
	s := r.hooks
	if s == nil {
		return r.endExhausted()
	}
	after := hook.HooksOf(s.all, hook.PostSync)
	begun := slices.ContainsFunc(after, func(h hook.Hook) bool { return s.runs[h.Index].Phase != hook.NotRun })
	if len(after) > 0 && !begun {
		if err := r.awaitObjects(objectWait{wait: hook.WaitForResumed}, 0); err != nil {
			return err
		}
	}
	if err := s.runPhase(ctx, hook.PostSync); err != nil {
		var failed *hooks.HookError
		if errors.As(err, &failed) {
			return &stageError{report.HookFailed, err}
		}
		return err
	}
	op := r.inventory.Operation
	op.Ended, op.Cause, op.Failed = true, "", time.Time{}
	return s.save(ctx, op)
}

// failSync runs the hooks of a failed operation, and returns why the run ends: a hook that is waited for, or the cause. What may pass by itself is no
// failure: the operation goes on in the next run.
func (r *appRun) failSync(ctx context.Context, cause error) error {
	s := r.hooks
	if s == nil || s.failing || !r.isLasting(cause) {
		return cause
	}
	op := r.inventory.Operation
	for i, run := range s.runs {
		run.Message = r.redacted(run.Message)
		op = op.With(s.keys[i], run)
	}
	again := op.Cause != "" && op.Ended // it has no tries left
	if op.Cause = r.redacted(cause.Error()); !again {
		op.Failed = r.engine.Now().UTC()
	}
	if err := s.save(ctx, op); err != nil {
		return errors.Join(cause, err)
	}
	s.report()
	if again {
		return cause
	}
	return s.afterFailure(ctx, cause)
}

// afterFailure runs the hooks of a failed operation, and ends it.
func (s *syncHooks) afterFailure(ctx context.Context, cause error) error {
	s.failing = true
	err := s.runPhase(ctx, hook.SyncFail)
	var failed *hooks.HookError
	switch {
	case errors.As(err, &failed):
		cause = errors.Join(cause, failed)
		if err := s.Record(ctx, s.runs); err != nil {
			return errors.Join(cause, err)
		}
	case err != nil:
		return err
	}
	op := s.run.inventory.Operation
	op.Ended = true
	if err := s.save(ctx, op); err != nil {
		return errors.Join(cause, err)
	}
	s.report()
	return cause
}
