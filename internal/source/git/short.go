package git

import (
	"context"
	"regexp"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// shortForm is what Argo CD takes for the first digits of a commit's hash.
var shortForm = regexp.MustCompile(`^[0-9A-Fa-f]{7,39}$`)

// isShort reports whether a reference is the first digits of a commit: a name that is neither a branch's nor a tag's, as eachMeaning tries it.
func isShort(r source.Ref) bool {
	return shortForm.MatchString(r.Any) && r.Commit == strings.ToLower(r.Any)
}

// bringShort brings the history of all branches and tags, and finds the commit in it.
func (t *fetchAttempt) bringShort(ctx context.Context, want ref) (revision, error) {
	if err := t.bringAll(ctx); err != nil {
		return revision{}, err
	}
	return t.repo.findShort(ctx, want)
}

// bringAll brings the history of all branches and tags, in one fetch: git fails, without a word, at one that matches nothing, as of a repository without tags.
func (t *fetchAttempt) bringAll(ctx context.Context) error {
	return t.run(ctx, []string{"+refs/heads/*:refs/truce/all/*", "+refs/tags/*:refs/truce/tags/*"}, wholeHistory, "--prune")
}

// findShort finds the one commit of the repository whose hash begins as a reference says.
func (r *repository) findShort(ctx context.Context, want ref) (revision, error) {
	out, err := r.runner.output(ctx, r.dir, offline, "rev-parse", "--disambiguate="+want.short)
	if err != nil {
		return revision{}, err
	}
	var commits []string
	for hash := range strings.FieldsSeq(string(out)) {
		got, err := r.read(hash + "^{commit}")
		if err != nil {
			return revision{}, err
		}
		if got.kind == "commit" && got.hash == hash { // and no tag of one
			commits = append(commits, hash)
		}
	}
	switch len(commits) {
	case 0:
		return revision{}, sourceError(source.RefNotFound, "no commit begins with %s", want.short)
	case 1:
		return revision{commit: commits[0]}, nil
	}
	return revision{}, sourceError(source.RefInvalid, "%s is ambiguous: %s and %s begin with it; want more digits", want.short, commits[0], commits[1])
}
