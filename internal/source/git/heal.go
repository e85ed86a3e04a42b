package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// attempt fetches what want names into the clone as it is.
func (c *clone) attempt(ctx context.Context, want ref, to reach) (revision, error) {
	if err := c.prepare(); err != nil {
		return revision{}, err
	}
	at, err := c.bring(ctx, want, to)
	if err == nil {
		err = c.pack(ctx)
	}
	if err != nil {
		if errorReason(err) != source.RefNotFound { // which has changed no file
			c.leftFiles = ""
		}
		return revision{}, err
	}
	c.leftFiles = c.describeFiles()
	return at, nil
}

// heal is attempt, and makes the clone again where it is damaged: after a read that failed, and after each new failure of a fetch that may have
// its cause here. The check reads the whole clone, so the same failure is not checked twice.
func (c *clone) heal(ctx context.Context, want ref, to reach) (revision, error) {
	if c.repo.suspected.Swap(false) && c.isDamaged(ctx) {
		return c.replace(ctx, want, to)
	}
	at, err := c.attempt(ctx, want, to)
	switch {
	case err == nil:
		c.checked = ""
		return at, nil
	case !mayBeDamage(err) || ctx.Err() != nil || c.checked == err.Error():
		return at, err
	}
	c.checked = err.Error()
	if !c.isDamaged(ctx) {
		return at, err
	}
	return c.replace(ctx, want, to)
}

// mayBeDamage reports whether a failure has no other known cause. That a server is away must not have each clone of it checked.
func mayBeDamage(err error) bool {
	var f *failure
	return !errors.As(err, &f) || f.Reason == source.GitOperationFailed && !f.remote
}

// shortages are what git prints when the machine, and not the clone, is at fault.
var shortages = []string{"ut of memory", "annot allocate memory", "No space left on device", "Too many open files", "unable to create thread"}

// isDamaged has git check every object and every reference of the clone. A check that could not be made finds nothing.
func (c *clone) isDamaged(ctx context.Context) bool {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := c.runner.command(ctx, c.dir, offline, "fsck", "--no-dangling", "--no-progress")
	var stderr tail
	cmd.Stderr = &stderr
	err := c.runner.run(ctx, cmd, cancel)
	var exit *exec.ExitError
	if ctx.Err() != nil || !errors.As(err, &exit) || !exit.Exited() {
		return false
	}
	return !slices.ContainsFunc(shortages, func(s string) bool { return strings.Contains(stderr.String(), s) })
}

// The names that a clone has beside the one that it replaces, and that one after.
const (
	besideNew     = ".new"
	besideDamaged = ".damaged"
)

// replace fetches into a clone beside the damaged one, which serves its readers until the other is complete.
func (c *clone) replace(ctx context.Context, want ref, to reach) (revision, error) {
	fresh := &clone{
		dir: c.dir + besideNew, private: c.private, address: c.address, auth: c.auth, servers: c.servers, clouds: c.clouds, runner: c.runner, deep: c.deep,
	}
	fresh.repo = newRepository(fresh.dir, c.runner, c.repo.shared)
	if err := os.RemoveAll(fresh.dir); err != nil {
		return revision{}, err
	}
	at, err := fresh.attempt(ctx, want, to)
	fresh.repo.objects.close()
	if err != nil {
		c.repo.suspected.Store(true) // the next fetch tries again
		return revision{}, errors.Join(err, os.RemoveAll(fresh.dir))
	}
	return at, c.repo.objects.pause(func() error { return exchange(c.dir, fresh.dir) })
}

// exchange puts the directory fresh in the place of dir, and removes what was there.
func exchange(dir, fresh string) error {
	old := dir + besideDamaged
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return err
	}
	return os.RemoveAll(old)
}
