package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// WaitErrors are the hooks that have not ended, in their order; none for none.
type WaitErrors []WaitError

// Error implements error, for who cannot go on.
func (all WaitErrors) Error() string {
	if len(all) == 1 {
		return all[0].Error()
	}
	return fmt.Sprintf("%s and %d more", all[0].Error(), len(all)-1)
}

// Until is when the first of them is waited for no longer; zero for no bound.
func (all WaitErrors) Until() (first time.Time) {
	for _, w := range all {
		if first.IsZero() || !w.Until.IsZero() && w.Until.Before(first) {
			first = w.Until
		}
	}
	return first
}

// WaitError is a hook that has not ended. Its zero value is none.
type WaitError struct {
	Check health.Check // the object that changes when it does
	UID   string       // its; empty in a wait for absence
	Until time.Time
	Text  string
	For   WaitFor
}

// Error implements error.
func (w WaitError) Error() string { return w.Text }

// WaitFor says what a wait is for.
type WaitFor string

// The values of WaitFor.
const (
	ForEnd     WaitFor = ""
	ForAbsence WaitFor = "absence" // of the former object
)

// IsOver reports whether there is nothing more to wait for, of an object that is there. as is the Runner's Health.
func (w WaitError) IsOver(o object.Object, as health.Assessor) bool {
	if w.For == ForAbsence {
		return !isBeingDeleted(o) // it changed at each try to delete it, or another client has made another one
	}
	done, why := hasEnded(o, as)
	return done || why != ""
}

// Advance goes on until all hooks have run, or some have to be waited for: then it is called again when one of them has changed, or its time is over.
// The error holds a *HookError for each hook that has failed. runs is changed.
func (r *Runner) Advance(ctx context.Context, runs map[int]hook.Run) (WaitErrors, error) {
	for _, wave := range r.waves() {
		waits, err := r.advanceWave(ctx, wave, runs)
		var failed *HookError
		if errors.As(err, &failed) {
			return nil, errors.Join(err, r.cleanUp(ctx, runs))
		}
		if err != nil || len(waits) > 0 {
			return waits, err
		}
	}
	if err := r.recordEnds(ctx, runs); err != nil {
		return nil, err
	}
	return nil, r.cleanUp(ctx, runs)
}

// waves are the hooks that run at once, in their order.
func (r *Runner) waves() [][]hook.Hook {
	var out [][]hook.Hook
	for _, h := range r.Hooks {
		if n := len(out) - 1; n >= 0 && r.Order == ByWave && out[n][0].Weight == h.Weight {
			out[n] = append(out[n], h)
		} else {
			out = append(out, []hook.Hook{h})
		}
	}
	return out
}

// advanceWave goes on with hooks that run at once. They have failed when all have ended and one has failed. That one has ended is stored while others
// are waited for: its object may be gone by the next time.
func (r *Runner) advanceWave(ctx context.Context, wave []hook.Hook, runs map[int]hook.Run) (WaitErrors, error) {
	var waits WaitErrors
	var failures []error
	hasNews := false
	for _, h := range wave {
		had := isFinished(runs[h.Index])
		wait, err := r.advanceHook(ctx, h, runs)
		var failed *HookError
		switch {
		case errors.As(err, &failed):
			failures = append(failures, err)
		case err != nil:
			return nil, err
		case wait != (WaitError{}):
			waits = append(waits, wait)
		}
		hasNews = hasNews || !had && isFinished(runs[h.Index])
	}
	if len(waits) == 0 {
		return nil, errors.Join(failures...)
	}
	if hasNews {
		return waits, r.Recorder.Record(ctx, runs)
	}
	return waits, nil
}

// isFinished reports whether a hook has ended. That one of a stored release has failed has no message: it runs again.
func isFinished(run hook.Run) bool {
	return run.Phase == hook.Succeeded || run.Phase == hook.Failed && run.Message != ""
}

// advanceHook goes on with one hook.
func (r *Runner) advanceHook(ctx context.Context, h hook.Hook, runs map[int]hook.Run) (WaitError, error) {
	if was := runs[h.Index]; isFinished(was) && was.Phase == hook.Failed {
		return WaitError{}, &HookError{Hook: h, Text: was.Message}
	} else if isFinished(was) {
		return WaitError{}, nil
	}
	wait, err := r.run(ctx, h, runs)
	var failed *HookError
	if wait != (WaitError{}) || err != nil && !errors.As(err, &failed) {
		return wait, err
	}
	run := runs[h.Index]
	run.Phase, run.Completed = hook.Succeeded, r.Now()
	if failed != nil {
		run.Phase, run.Message = hook.Failed, failed.Text
	}
	runs[h.Index] = run
	return WaitError{}, err
}
