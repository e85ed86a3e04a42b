package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/githubapp"
)

// clone is our bare, shallow copy of a repository elsewhere. References are kept under names of our own making, so that
// no name from a server becomes a file.
type clone struct {
	name        string
	dir         string
	private     string // where private directories are made
	address     address
	moved       address // where the server sent the last trip, within its origin
	auth        source.Auth
	token       githubapp.Token // of its GitHub App; the trip that has the turn uses it
	servers     egress.Policy
	clouds      *cloud.Exchange
	runner      runner
	repo        *repository
	turn        chan struct{} // one git process at a time writes
	deep        bool          // keeps history; see Store.History
	checked     string        // the last failure after which the clone was checked, and was not damaged
	oldProtocol bool          // the server does not speak version 2 of git's protocol
	byGitAlone  bool          // a first fetch by truce's own requests has failed
	leftFiles   string        // describeFiles after the last fetch; empty for none in this process
	removed     bool          // the caller that has the turn must begin with another clone
}

// cloneNamed returns the clone of a name, which an address has with credentials; see cloneName.
func (s *Store) cloneNamed(name string, a address, auth source.Auth) *clone {
	dir := filepath.Join(s.options.Dir, "clones", name+".git")
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clones[name]
	if !ok {
		c = &clone{
			name: name, dir: dir, private: filepath.Join(s.options.Dir, "run"), address: a, auth: auth,
			servers: s.options.Servers, clouds: s.options.Clouds, runner: s.runner, repo: s.reader(dir), turn: make(chan struct{}, 1),
		}
		s.clones[name] = c
	}
	return c
}

// fetch brings what want names and returns its commit.
func (c *clone) fetch(ctx context.Context, want ref, to reach) (revision, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return revision{}, context.Cause(ctx)
	}
	if c.removed {
		return revision{}, errRemoved
	}
	return c.heal(ctx, want, to)
}

// visit makes one trip to the server. The secrets that it needs as files exist no longer than it does.
func (c *clone) visit(ctx context.Context, want ref, to reach) (at revision, err error) {
	private, err := os.MkdirTemp(c.private, "fetch-")
	if err != nil {
		return revision{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(private)) }()
	auth, err := c.withToken(ctx)
	if err != nil {
		return revision{}, err
	}
	t := &fetchAttempt{clone: c, private: private, auth: auth, reach: to, to: cmp.Or(c.moved, c.address)}
	if t.route, err = findRoute(ctx, c.servers, t.to, reach{addresses: to.addresses, proxy: c.auth.Proxy, direct: c.auth.Direct}); err != nil {
		return revision{}, err
	}
	if t.network, err = t.prepareNetwork(); err != nil {
		return revision{}, err
	}
	at, err = t.resolve(ctx, want)
	c.moved = t.to
	if err != nil {
		c.moved = address{} // the next trip asks again
		c.rejectToken(auth, err)
		err = hideToken(c.address, auth, err)
	}
	return at, err
}

// The configuration of a clone, by its hash.
const (
	configSHA1   = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	configSHA256 = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n"
)

// What git prints when the server's repository is of the other hash than the clone.
const (
	wrongHash    = "mismatched algorithms: client "
	serverSHA256 = "; server sha256"
)

// bring brings what want names, into a clone of the right hash.
func (c *clone) bring(ctx context.Context, want ref, to reach) (revision, error) {
	at, err := c.visit(ctx, want, to)
	if err == nil || !strings.Contains(err.Error(), wrongHash) {
		return at, err
	}
	c.repo.objects.reset()
	if err := os.RemoveAll(c.dir); err != nil {
		return revision{}, err
	}
	config := configSHA1
	if strings.Contains(err.Error(), serverSHA256) {
		config = configSHA256
	}
	if err := c.writeConfig(config); err != nil {
		return revision{}, err
	}
	return c.visit(ctx, want, to)
}

// prepare makes the clone, or removes what a process that was killed left in it. Its configuration is written each time.
func (c *clone) prepare() error {
	if err := makePrivate(c.private); err != nil {
		return err
	}
	config := configSHA1
	now, err := os.ReadFile(filepath.Join(c.dir, "config"))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case string(now) == configSHA256:
		config = configSHA256
	}
	if err := c.writeConfig(config); err != nil {
		return err
	}
	return c.sweep()
}

// unborn is the HEAD of a clone: a branch that is never made. Of a reference of another kind `git fsck` says that it is damaged.
const unborn = "ref: refs/heads/none\n"

// writeConfig writes the files that make a directory a repository.
func (c *clone) writeConfig(config string) error {
	for _, dir := range []string{"objects/pack", "refs/truce"} {
		if err := os.MkdirAll(filepath.Join(c.dir, dir), 0o700); err != nil {
			return err
		}
	}
	for file, content := range map[string]string{"HEAD": unborn, "config": config} {
		if err := os.WriteFile(filepath.Join(c.dir, file), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// leftovers are the lock files, half packs and directories of a git process that was killed.
var leftovers = []string{
	"*.lock", "gc.pid", "refs/truce/*.lock", "refs/truce/*/*.lock", "objects/*.lock", "objects/info/*.lock",
	"objects/pack/tmp_*", "objects/pack/*.lock", "objects/pack/*.keep", "objects/incoming-*", "objects/tmp_objdir-*",
}

// sweep removes the leftovers. The turn is ours, so no process uses them.
func (c *clone) sweep() error {
	stale := []string{c.dir + besideNew, c.dir + besideDamaged}
	for _, pattern := range leftovers {
		found, err := filepath.Glob(filepath.Join(c.dir, pattern))
		if err != nil {
			return err
		}
		stale = append(stale, found...)
	}
	for _, file := range stale {
		if err := os.RemoveAll(file); err != nil {
			return err
		}
	}
	return nil
}

const mostPacks = 50

// pack folds many small packs into one. Objects that no reference leads to stay for git's two weeks, for the trees in use.
func (c *clone) pack(ctx context.Context) error {
	packs, err := filepath.Glob(filepath.Join(c.dir, "objects/pack/*.pack"))
	if err != nil || len(packs) <= mostPacks {
		return err
	}
	_, err = c.runner.output(ctx, c.dir, offline, "gc", "--quiet")
	return err
}

// keptRef is where a remote reference is kept.
func keptRef(name string) string {
	return fmt.Sprintf("refs/truce/%x", sha256.Sum256([]byte(name)))[:len("refs/truce/")+32]
}

// kept returns the hash at a kept reference, of a tag object if it is one, or "".
func (c *clone) kept(name string) (string, error) {
	got, err := c.repo.read(keptRef(name))
	if err != nil || got.kind == "" {
		return "", err
	}
	return got.hash, nil
}

// holds says whether a commit is here already.
func (c *clone) holds(commit string) (bool, error) {
	got, err := c.repo.read(commit)
	return got.kind == "commit", err
}

// fetchAttempt is one visit to the server.
type fetchAttempt struct {
	*clone
	private string // its own directory
	auth    source.Auth
	to      address
	route   route // the same for all of an origin
	network network
	asked   map[string]string // where references are, as the server has said in this visit
	reach
}

// reach bounds a trip.
type reach struct {
	limits    source.Limits
	addresses string        // of the server; see source.Spec
	proxy     string        // of the source's own; empty for that of the environment
	direct    bool          // there is no proxy
	timeout   time.Duration // of the whole fetch; zero for the default
}

// resolve fetches what is missing and returns the commit.
func (t *fetchAttempt) resolve(ctx context.Context, want ref) (revision, error) {
	switch {
	case t.deep:
		return want.eachName(func(one ref) (revision, error) { return t.bringHistory(ctx, one) })
	case want.short != "":
		return t.bringShort(ctx, want)
	case want.commit != "":
		return t.bringCommit(ctx, want)
	case want.allowed != nil:
		return t.bringVersion(ctx, want)
	}
	return t.bringNamed(ctx, want)
}

// bringVersion lists the tags, which protocol 2 does without the other references, and fetches only a tag that is new.
func (t *fetchAttempt) bringVersion(ctx context.Context, want ref) (revision, error) {
	tags, err := t.list(ctx, "--tags")
	if err != nil {
		return revision{}, err
	}
	tag, err := want.newest(shorten(tags.names, "refs/tags/"))
	if err != nil {
		return revision{}, err
	}
	name := "refs/tags/" + tag
	if have, err := t.kept(name); err != nil {
		return revision{}, err
	} else if have != tags.at[name] {
		if err := t.get(ctx, name, oneCommit); err != nil {
			return revision{}, err
		}
	}
	return t.repo.peel(keptRef(name), tag)
}

// bringCommit asks for the commit itself, then, of servers that refuse that, for the history of the branch, or of all branches and tags.
func (t *fetchAttempt) bringCommit(ctx context.Context, want ref) (revision, error) {
	here, err := t.holds(want.commit)
	if err != nil {
		return revision{}, err
	}
	if !here {
		err = t.get(ctx, want.commit, oneCommit)
		if errorReason(err) == source.RefNotFound {
			err = t.history(ctx, want)
		}
	}
	if err != nil {
		return revision{}, err
	}
	return t.repo.findCommit(want)
}

const wholeHistory = "--depth=2147483647" // git's "infinite"

func (t *fetchAttempt) history(ctx context.Context, want ref) error {
	var err error
	if want.name != "" {
		err = t.suggest(ctx, want, t.get(ctx, want.name, wholeHistory))
	} else {
		err = t.bringAll(ctx)
	}
	if err != nil {
		return err
	}
	here, err := t.holds(want.commit)
	if err == nil && !here {
		return refNotFound(want)
	}
	return err
}

func (t *fetchAttempt) run(ctx context.Context, refspecs []string, flags ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go t.guard(ctx, cancel)
	args := append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"}, flags...)
	_, err := t.git(ctx, func(url string) []string {
		return append(append(slices.Clip(args), "--end-of-options", url), refspecs...)
	})
	return err
}

// suggest adds to "not found" what there is.
func (t *fetchAttempt) suggest(ctx context.Context, want ref, err error) error {
	if errorReason(err) != source.RefNotFound {
		return err
	}
	for prefix, kind := range refKinds {
		if short, ok := strings.CutPrefix(want.name, prefix); ok {
			there, err := t.list(ctx, kind.flag)
			if err != nil {
				return err
			}
			return sourceError(reasonOfNone(prefix, there.names), "%s %q does not exist%s", kind.one, short, describeChoices(kind.many, shorten(there.names, prefix)))
		}
	}
	return sourceError(source.RefNotFound, "reference %q does not exist", want.name)
}

// advertised is what a server says that it has.
type advertised struct {
	names []string
	at    map[string]string
}

// list asks for the branches (--heads) or tags (--tags). Names that are no legal references are left out.
func (t *fetchAttempt) list(ctx context.Context, kind string) (advertised, error) {
	out, err := t.git(ctx, func(url string) []string {
		return []string{"ls-remote", "--quiet", "--refs", kind, "--end-of-options", url}
	})
	if err != nil {
		return advertised{}, err
	}
	there := advertised{at: map[string]string{}}
	for line := range strings.Lines(string(out)) {
		hash, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || checkRefName(name) != nil {
			continue
		}
		there.names = append(there.names, name)
		there.at[name] = hash
	}
	return there, nil
}

func errorReason(err error) source.Reason {
	var f *failure
	if errors.As(err, &f) {
		return f.Reason
	}
	return ""
}
