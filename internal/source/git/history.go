package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

// mostHistory is how many commits of a repository elsewhere are looked through.
const mostHistory = "--depth=300"

// Lines are lines of one file, 1-based, as of a commit.
type Lines struct {
	Commit string // full hash
	File   string // its path in the tree
	Lines  []int
}

// Change is the commit that last touched a line.
type Change struct {
	Commit  string    // full hash
	Author  string    // "Name <address>"
	Time    time.Time // the author's
	Subject string
	// Oldest says that history is known no further back: the line is as old as this commit, or older.
	Oldest bool
}

// History says which commits last touched lines of a file, by git blame. A repository on this machine is asked in place. Of any other
// the newest 300 commits are kept in a clone of their own, so that the one that polls stays shallow. A line that the file
// has not is an error. Errors are *source.Error.
func (s *Store) History(ctx context.Context, spec source.Spec, at Lines) (map[int]Change, error) {
	var changes map[int]Change
	err := s.inHistory(ctx, spec, []string{at.Commit}, func(r *repository) (err error) {
		changes, err = r.runner.blame(ctx, r.dir, at)
		return err
	})
	return changes, err
}

// inHistory reads in a repository that holds the history of the first commit, and the others if the server still gives them.
func (s *Store) inHistory(ctx context.Context, spec source.Spec, commits []string, read func(*repository) error) error {
	a, err := parseAddress(spec.URL)
	if err != nil {
		return &source.Error{Op: "history", Subject: a.String(), Reason: source.URLInvalid, Err: err}
	}
	err = eachMeaning(spec.Ref, func(r source.Ref) error {
		spec.Ref = r
		repo, err := s.history(ctx, a, spec, commits)
		if err != nil {
			return err
		}
		err = read(repo)
		if err != nil && !a.local() && mayBeDamage(err) && ctx.Err() == nil {
			repo.suspected.Store(true)
		}
		return err
	})
	if err != nil {
		err = fetchError(ctx, a, spec.Auth, err)
	}
	return err
}

func (s *Store) history(ctx context.Context, a address, spec source.Spec, commits []string) (*repository, error) {
	for _, commit := range commits {
		if !hashForm.MatchString(commit) {
			return nil, fmt.Errorf("commit %q is not a full hash", commit)
		}
	}
	if a.local() {
		dir, err := findGitDir(a.path)
		if err != nil {
			return nil, err
		}
		return s.repository(dir), nil
	}
	want, err := parseRef(spec.Ref)
	if err != nil {
		return nil, err
	}
	a, auth, err := credentials(a, spec.Auth)
	if err != nil {
		return nil, err
	}
	for {
		c := s.cloneNamed(cloneName(s.key, a, auth)+"-history", a, auth)
		if err := c.deepenAll(ctx, want, commits, spec.Limits.OrDefault()); !errors.Is(err, errRemoved) {
			return c.repo, err
		}
	}
}

// deepenAll brings the first of some commits, and those of the others that the server still gives.
func (c *clone) deepenAll(ctx context.Context, want ref, commits []string, limits source.Limits) error {
	err := c.deepen(ctx, want, commits[0], limits)
	for _, older := range commits[1:] {
		if err != nil {
			return err
		}
		if err = c.deepen(ctx, ref{}, older, limits); errorReason(err) == source.RefNotFound {
			err = nil
		}
	}
	return err
}

// deepen brings a commit with what came before it.
func (c *clone) deepen(ctx context.Context, want ref, commit string, limits source.Limits) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if c.removed {
		return errRemoved
	}
	c.deep = true
	if here, err := c.holds(commit); err == nil && here && !c.repo.suspected.Load() {
		return nil // and its history, as no shallower fetch is ever made into this clone
	}
	want.commit = commit
	_, err := c.heal(ctx, want, reach{limits: limits})
	return err
}

// bringHistory asks for what is followed, or else for the commit itself: some servers give only what they advertise.
func (t *fetchAttempt) bringHistory(ctx context.Context, want ref) (revision, error) {
	name := cmp.Or(want.name, want.commit)
	if err := t.get(ctx, name, mostHistory); err != nil {
		return revision{}, err
	}
	here, err := t.holds(want.commit)
	if err == nil && !here {
		err = sourceError(source.RefNotFound, "commit %s is not among the newest of %s", want.commit, cmp.Or(want.show, name))
	}
	return revision{commit: want.commit, show: want.show}, err
}

// blame asks git. No line of the file is kept, since it may be a Secret's; no program that a repository names is run.
func (r runner) blame(ctx context.Context, dir string, at Lines) (map[int]Change, error) {
	args := []string{"blame", "--porcelain", "--no-textconv", "--root"}
	for _, n := range at.Lines {
		args = append(args, fmt.Sprintf("-L%d,%d", n, n))
	}
	out, err := r.output(ctx, dir, offline, append(args, at.Commit, "--", at.File)...)
	if err != nil {
		return nil, err
	}
	shallow, err := shallowAt(dir)
	if err != nil {
		return nil, err
	}
	return parseBlame(out, shallow), nil
}

// shallowAt lists the commits behind which a repository holds nothing (gitrepository-layout(5), shallow).
func shallowAt(dir string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(dir, "shallow"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	out := map[string]bool{}
	for _, hash := range strings.Fields(string(text)) {
		out[hash] = true
	}
	return out, err
}

// parseBlame reads git-blame(1)'s porcelain format: what is said of a commit stands where it is first named.
func parseBlame(out []byte, shallow map[string]bool) map[int]Change {
	commits, at := map[string]*Change{}, map[int]*Change{}
	var now *Change
	for line := range bytes.Lines(out) {
		text := strings.ToValidUTF8(strings.TrimSuffix(string(line), "\n"), "?")
		if strings.HasPrefix(text, "\t") {
			continue // the line itself
		}
		key, value, _ := strings.Cut(text, " ")
		if hashForm.MatchString(key) {
			if commits[key] == nil {
				commits[key] = &Change{Commit: key, Oldest: shallow[key]}
			}
			now = commits[key]
			if f := strings.Fields(value); len(f) > 1 {
				n, _ := strconv.Atoi(f[1]) // 0 is no line
				at[n] = now
			}
			continue
		}
		if now != nil {
			now.read(key, value)
		}
	}
	changes := make(map[int]Change, len(at))
	for n, c := range at {
		changes[n] = *c
	}
	return changes
}

func (c *Change) read(key, value string) {
	switch key {
	case "author":
		c.Author = value
	case "author-mail":
		c.Author += " " + value
	case "author-time":
		c.Time = commitTime(value)
	case "summary":
		c.Subject = value
	}
}
