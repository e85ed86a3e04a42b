package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// mostTags is how many tags of one commit are named.
const mostTags = 100

// Commit is what is known of one commit of a repository. All texts in it are by others.
type Commit struct {
	Author  string    // "Name <address>", cut at 256 bytes
	Message string    // cut at 4 KiB
	Time    time.Time // the author's
	Tags    []string  // that are known to be at it
}

// Commit reads a commit of the repository that an artifact is of, from what was fetched: no server is asked. Of a repository elsewhere the only tag that is
// known is the one that the artifact's revision names. An artifact of no repository, and a commit that was not fetched, are errors. It returns when ctx ends.
func (s *Store) Commit(ctx context.Context, a source.Artifact, hash string) (Commit, error) {
	t, ok := a.Files.(*tree.Tree)
	if !ok {
		return Commit{}, errNoRepository
	}
	r, ok := t.Stores()[0].(*repository)
	if !ok {
		return Commit{}, errNoRepository
	}
	if !hashForm.MatchString(hash) {
		return Commit{}, fmt.Errorf("%.80q is not the full hash of a commit", hash)
	}
	got, err := r.readUntil(ctx, hash)
	switch {
	case ctx.Err() != nil:
		return Commit{}, context.Cause(ctx)
	case err != nil:
		return Commit{}, fmt.Errorf("commit %s: what was fetched of the repository cannot be read; it is fetched again when its source is looked at", hash)
	case got.kind != "commit":
		return Commit{}, fmt.Errorf("commit %s is not among what was fetched of the repository", hash)
	}
	author, message, _ := parseCommitObject(got.data)
	out := Commit{Author: author, Message: message, Time: authorTime(got.data)}
	out.Tags, err = s.tagsAt(ctx, r, hash, a.Revision)
	return out, err
}

var errNoRepository = errors.New("the source is no Git repository")

// readUntil is read, for no longer than ctx: a read that takes longer ends by itself.
func (r *repository) readUntil(ctx context.Context, name string) (object, error) {
	type answer struct {
		got object
		err error
	}
	done := make(chan answer, 1)
	go func() {
		got, err := r.read(name)
		done <- answer{got, err}
	}()
	select {
	case <-ctx.Done():
		return object{}, context.Cause(ctx)
	case a := <-done:
		return a.got, a.err
	}
}

// tagsAt returns the tags at a commit: of a repository on this machine all, of a clone the one that a revision names.
func (s *Store) tagsAt(ctx context.Context, r *repository, hash, revision string) ([]string, error) {
	if filepath.Dir(r.dir) != filepath.Join(s.options.Dir, "clones") {
		out, err := s.runner.output(ctx, r.dir, offline, "for-each-ref", "--points-at="+hash, "--format=%(refname:strip=2)", "--", "refs/tags")
		if err != nil {
			return nil, fmt.Errorf("tags at commit %s: %w", hash, err)
		}
		tags := slices.Collect(strings.FieldsSeq(strings.ToValidUTF8(string(out), "?")))
		return tags[:min(len(tags), mostTags)], nil
	}
	name, _, _ := strings.Cut(revision, "@sha")
	name = strings.TrimPrefix(name, "refs/tags/")
	if got, err := r.readUntil(ctx, keptRef("refs/tags/"+name)+"^{commit}"); err != nil || got.hash != hash {
		return nil, err
	}
	return []string{name}, nil
}

// authorTime is when a commit was made first; zero for one that is malformed.
func authorTime(commit []byte) time.Time {
	head, _, _ := bytes.Cut(commit, []byte("\n\n"))
	for line := range bytes.Lines(head) {
		if who, is := bytes.CutPrefix(line, []byte("author ")); is {
			return commitTime(string(who[bytes.LastIndexByte(who, '>')+1:]))
		}
	}
	return time.Time{}
}
