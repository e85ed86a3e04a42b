package git

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// Related reports whether two commits of a repository may have a common ancestor. It is false only where the history of the newer one is known
// to its root and has none. A repository on this machine is asked in place, of any other the newest 300 commits are read, as in History.
func (s *Store) Related(ctx context.Context, spec source.Spec, was, is string) (bool, error) {
	related := true
	err := s.inHistory(ctx, spec, []string{is, was}, func(r *repository) (err error) {
		related, err = r.runner.related(ctx, r.dir, was, is)
		return err
	})
	return related, err
}

// related asks a repository that holds the newer commit, and may lack the older one.
func (r runner) related(ctx context.Context, dir, was, is string) (bool, error) {
	if _, err := r.output(ctx, dir, offline, "cat-file", "-e", was+"^{commit}"); err == nil {
		_, err := r.output(ctx, dir, offline, "merge-base", was, is)
		var exit *exec.ExitError
		if err == nil || !errors.As(err, &exit) || exit.ExitCode() != 1 {
			return true, err
		}
	} else if ctx.Err() != nil {
		return true, err
	}
	shallow, err := shallowAt(dir)
	if err != nil {
		return true, err
	}
	out, err := r.output(ctx, dir, offline, "rev-list", is)
	if err != nil {
		return true, err
	}
	for hash := range strings.FieldsSeq(string(out)) {
		if shallow[hash] {
			return true, nil
		}
	}
	return false, nil
}
