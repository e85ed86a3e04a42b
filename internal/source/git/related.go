package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// Related reports whether two commits of a repository may have a common ancestor. It is false only where the history of the newer one is known
// to its root and has none. A repository on this machine is asked in place, of any other the newest 300 commits are read, as in History.
func (s *Store) Related(ctx context.Context, spec source.Spec, was, is string) (bool, error) {
	a, err := parseAddress(spec.URL)
	if err != nil {
		return true, &source.Error{Op: "history", Subject: a.String(), Reason: source.URLInvalid, Err: err}
	}
	related := true
	err = eachMeaning(spec.Ref, func(r source.Ref) (err error) {
		spec.Ref = r
		related, err = s.related(ctx, a, spec, [2]string{was, is})
		return err
	})
	if err != nil {
		err = fetchError(ctx, a, spec.Auth, err)
	}
	return related, err
}

func (s *Store) related(ctx context.Context, a address, spec source.Spec, commits [2]string) (bool, error) {
	for _, commit := range commits {
		if !hashForm.MatchString(commit) {
			return true, fmt.Errorf("commit %q is not a full hash", commit)
		}
	}
	if a.local() {
		dir, err := findGitDir(a.path)
		if err != nil {
			return true, err
		}
		return s.runner.related(ctx, dir, commits)
	}
	want, err := parseRef(spec.Ref)
	if err != nil {
		return true, err
	}
	a, auth, err := credentials(a, spec.Auth)
	if err != nil {
		return true, err
	}
	c, limits := s.cloneNamed(cloneName(s.key, a, auth)+"-history", a, auth), spec.Limits.OrDefault()
	if err := c.deepen(ctx, want, commits[1], limits); err != nil {
		return true, err
	}
	if err := c.deepen(ctx, ref{}, commits[0], limits); err != nil && errorReason(err) != source.RefNotFound { // a server need not give it any more
		return true, err
	}
	return s.runner.related(ctx, c.dir, commits)
}

// related asks a repository that holds the newer commit, and may lack the older one.
func (r runner) related(ctx context.Context, dir string, commits [2]string) (bool, error) {
	if _, err := r.output(ctx, dir, offline, "cat-file", "-e", commits[0]+"^{commit}"); err == nil {
		_, err := r.output(ctx, dir, offline, "merge-base", commits[0], commits[1])
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
	out, err := r.output(ctx, dir, offline, "rev-list", commits[1])
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
