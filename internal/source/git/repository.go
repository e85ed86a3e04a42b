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
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// repository reads one git directory.
type repository struct {
	dir     string
	runner  runner
	objects *objectReader
	shared  *shared

	mu    sync.Mutex
	trees recent // what was read lately, so that many apps of one repository share it

	// suspected says that something could not be read as it should; the next fetch into a clone checks that.
	suspected atomic.Bool
}

// shared is what the repositories of a store have together.
type shared struct {
	blobs   *blobCache
	waiting waitingReaders
}

func newRepository(dir string, r runner, shared *shared) *repository {
	return &repository{dir: dir, runner: r, shared: shared, objects: newObjects(r, dir, &shared.waiting)}
}

// findGitDir finds the git directory of a path: bare, with .git inside, or a linked worktree whose .git is a file.
func findGitDir(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dotgit := filepath.Join(path, ".git")
	info, err := os.Stat(dotgit)
	switch {
	case err == nil && info.IsDir():
		return isGitDir(dotgit)
	case err == nil:
		return followGitFile(dotgit)
	case !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	return isGitDir(path)
}

func isGitDir(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		if _, err := os.Stat(dir); err != nil {
			return "", errors.New("no such directory")
		}
		return "", errors.New("not a git repository")
	}
	return dir, nil
}

// followGitFile reads "gitdir: <path>", see gitrepository-layout(5).
func followGitFile(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir: ")
	if !ok {
		return "", errors.New("not a git repository: .git names no directory")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(file), dir)
	}
	return isGitDir(dir)
}

// read returns what a name leads to; see objects.read.
func (r *repository) read(name string) (object, error) {
	got, err := r.objects.read(name)
	if err != nil && mayBeDamage(err) && !errors.Is(err, errClosed) {
		r.suspected.Store(true)
	}
	return got, err
}

// refs lists references below some names, and the objects that they stand at.
func (r *repository) refs(ctx context.Context, below ...string) (map[string]string, []string, error) {
	args := []string{"for-each-ref", "--format=%(objectname) %(refname)", "--"}
	out, err := r.runner.output(ctx, r.dir, offline, append(args, below...)...)
	if err != nil {
		return nil, nil, err
	}
	at, names := map[string]string{}, []string{}
	for line := range strings.Lines(string(out)) {
		hash, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at[name] = hash
		names = append(names, name)
	}
	return at, names, nil
}

// find resolves a reference in the repository as it is now.
func (r *repository) find(ctx context.Context, want ref) (revision, error) {
	switch {
	case want.orTag != "":
		return want.eachName(func(one ref) (revision, error) { return r.find(ctx, one) })
	case want.short != "":
		return r.findShort(ctx, want)
	case want.commit != "":
		return r.findCommit(want)
	case want.allowed != nil:
		return r.findVersion(ctx, want)
	case want.name == "HEAD":
		return r.peel("HEAD", "HEAD")
	case r.isLoose(want.name):
		return r.peel(want.name, want.show)
	}
	at, _, err := r.refs(ctx, want.name)
	if err != nil {
		return revision{}, err
	}
	hash, ok := at[want.name]
	if !ok {
		return revision{}, r.missing(ctx, want)
	}
	return r.peel(hash, want.show)
}

// isLoose reports whether a reference is a file of its own (gitrepository-layout(5)). Git takes a name for the one of exactly that name first, so that
// who reads it cannot be led to another, and for-each-ref, a process, is not needed.
func (r *repository) isLoose(name string) bool {
	common, err := commonDir(r.dir)
	if err != nil {
		return false
	}
	file, err := os.Lstat(filepath.Join(common, filepath.FromSlash(name)))
	return err == nil && file.Mode().IsRegular()
}

func (r *repository) findCommit(want ref) (revision, error) {
	got, err := r.read(want.commit)
	if err != nil {
		return revision{}, err
	}
	if got.kind != "commit" {
		return revision{}, refNotFound(want)
	}
	return revision{commit: want.commit, show: want.show}, nil
}

func refNotFound(want ref) error {
	if want.show == "" {
		return sourceError(source.RefNotFound, "commit %s does not exist", want.commit)
	}
	return sourceError(source.RefNotFound, "commit %s does not exist in %s", want.commit, want.show)
}

func (r *repository) findVersion(ctx context.Context, want ref) (revision, error) {
	at, names, err := r.refs(ctx, "refs/tags")
	if err != nil {
		return revision{}, err
	}
	tag, err := want.newest(shorten(names, "refs/tags/"))
	if err != nil {
		return revision{}, err
	}
	return r.peel(at["refs/tags/"+tag], tag)
}

// peel follows tag objects to the commit.
func (r *repository) peel(name, show string) (revision, error) {
	got, err := r.read(name + "^{commit}")
	if err != nil {
		return revision{}, err
	}
	if got.kind != "commit" {
		return revision{}, sourceError(source.RefNotFound, "%s leads to no commit", cmp.Or(show, name))
	}
	return revision{commit: got.hash, show: show}, nil
}

// missing says which references there are instead.
func (r *repository) missing(ctx context.Context, want ref) error {
	for prefix, kind := range refKinds {
		if short, ok := strings.CutPrefix(want.name, prefix); ok {
			_, names, err := r.refs(ctx, strings.TrimSuffix(prefix, "/"))
			if err != nil {
				return err
			}
			return sourceError(reasonOfNone(prefix, names), "%s %q does not exist%s", kind.one, short, describeChoices(kind.many, shorten(names, prefix)))
		}
	}
	return sourceError(source.RefNotFound, "reference %q does not exist", want.name)
}

var refKinds = map[string]struct{ one, many, flag string }{
	"refs/heads/": {"branch", "branches", "--heads"},
	"refs/tags/":  {"tag", "tags", "--tags"},
}

func shorten(names []string, prefix string) []string {
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = strings.TrimPrefix(name, prefix)
	}
	return short
}

// artifact is that of a commit and its files.
func (r *repository) artifact(at revision, files *tree.Tree) (source.Artifact, error) {
	got, err := r.read(at.commit)
	if err != nil {
		return source.Artifact{}, err
	}
	if got.kind != "commit" {
		return source.Artifact{}, sourceError(source.RefNotFound, "%s leads to no commit", at)
	}
	author, message, when := parseCommitObject(got.data)
	return source.Artifact{
		Revision: at.String(), Digest: files.Digest(), Commit: at.commit,
		Author: author, Message: message, Time: when, Files: files,
	}, nil
}

// treeKey is all that a tree depends on.
type treeKey struct {
	commit, ignore, sparse string
	submodules             bool
	limits                 source.Limits
}

func treeKeyOf(commit string, spec source.Spec) treeKey {
	return treeKey{commit, spec.Ignore, spec.Sparse, spec.Submodules, spec.Limits.OrDefault()}
}

// tree lists a commit once, and keeps it while it is in use. A list is of its entries with those of its submodules.
func (r *repository) tree(ctx context.Context, key treeKey, list []tree.Entry) (*tree.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.trees.get(key); ok {
		return t, nil
	}
	var err error
	if list == nil {
		if list, err = r.list(ctx, key.commit, listFactor*key.limits.Files); err != nil {
			return nil, err
		}
	}
	if list, err = keepSparse(list, key.sparse); err != nil {
		return nil, err
	}
	t, err := tree.NewTree(ctx, r, list, tree.Rules{Ignore: key.ignore, Limits: key.limits}, r.trees.like(key.ignore))
	if err != nil {
		return nil, treeError(err)
	}
	r.trees.put(key, t)
	return t, nil
}

// treeError is the reason for which a list makes no tree; another error is one of reading.
func treeError(err error) error {
	var e *tree.Error
	if errors.As(err, &e) {
		return sourceError(e.Reason, "%w", e.Err)
	}
	return err
}

// Blob implements tree.Blobs.
func (r *repository) Blob(hash string) ([]byte, error) {
	if data, ok := r.shared.blobs.get(r.dir, hash); ok {
		return data, nil
	}
	got, err := r.read(hash)
	if err != nil {
		return nil, err
	}
	if got.kind != "blob" {
		r.suspected.Store(true)
		return nil, fmt.Errorf("object %s is gone from the repository", hash)
	}
	r.shared.blobs.put(r.dir, hash, got.data)
	return got.data, nil
}

// parseCommitObject reads author, message and commit time; what is malformed stays empty.
func parseCommitObject(data []byte) (author, message string, when time.Time) {
	head, body, _ := bytes.Cut(data, []byte("\n\n"))
	for line := range strings.Lines(string(head)) {
		line = strings.TrimSuffix(line, "\n")
		if who, ok := strings.CutPrefix(line, "author "); ok && author == "" {
			author = who[:strings.LastIndex(who, ">")+1]
		}
		if who, ok := strings.CutPrefix(line, "committer "); ok && when.IsZero() {
			when = commitTime(who[strings.LastIndex(who, ">")+1:])
		}
	}
	return strings.ToValidUTF8(author[:min(len(author), 256)], "?"), strings.ToValidUTF8(string(body[:min(len(body), 4096)]), "?"), when
}

func commitTime(s string) time.Time {
	f := strings.Fields(s)
	if len(f) == 0 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
