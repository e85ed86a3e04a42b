package cli

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/truce-gitops/truce/internal/model/exit"
)

// leastTime is what each of several has of a timeout, where those before have taken all of it: what is fine, and what can be requested, says so by then.
const leastTime = 5 * time.Second

// forEach does something with each of several, also after one that has failed. Where there are more than one, each error is printed at once, and the one that
// is returned has the highest exit code and prints nothing. The timeout is for all of them, and 0 is none. A signal ends it.
func forEach[T any](ctx context.Context, p *program, timeout time.Duration, all []T, do func(context.Context, T) error) error {
	end, worst := time.Now().Add(timeout), exit.Same
	for i, x := range all {
		left := timeout
		if i > 0 && timeout > 0 {
			left = max(time.Until(end), leastTime)
		}
		err := withinTime(ctx, left, x, do)
		switch {
		case ctx.Err() != nil && (err != nil || i+1 == len(all)), len(all) == 1:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			p.printError(err)
			worst = max(worst, exitCode(err))
		}
	}
	if worst == exit.Same {
		return nil
	}
	return &exit.Error{Code: worst}
}

func withinTime[T any](ctx context.Context, timeout time.Duration, x T, do func(context.Context, T) error) error {
	ctx, cancel := withOptionalTimeout(ctx, timeout)
	defer cancel()
	return do(ctx, x)
}

// exitCode is the exit code of an error.
func exitCode(err error) exit.Code {
	if f := (*exit.Error)(nil); errors.As(err, &f) {
		return f.Code
	}
	return exit.Cluster
}

// alsoFailed is the end of a command that goes on with those of several that have not failed: first is the error that forEach has returned for all, then
// the one for those. Where both have failed the former is printed already.
func alsoFailed(p *program, first, then error) error {
	if first == nil || then == nil || errors.Is(then, context.Canceled) {
		return cmp.Or(then, first)
	}
	p.printError(then)
	return &exit.Error{Code: max(exitCode(first), exitCode(then))}
}
