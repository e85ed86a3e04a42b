// Package git answers: which files does a Git repository hold at a reference?
//
// In: a source.Spec.
// Out: a source.Artifact whose Tree reads straight from the object store; nothing is ever checked out.
// Promise: no text of a user or a server becomes an option, a command or a path; credentials are on no command line, in no
// error, and reach only the origin they are for; git connects to the addresses alone that were judged (Options.Servers); every process ends
// with its context.
// Not here: when to look again, LFS, what a signature is (signature).
//
// A repository on this machine is read in place. Any other has one bare, shallow clone under Options.Dir, keyed by address and
// credentials. A poll over HTTP asks where the reference is, in one request of some hundred bytes; what is new, and over SSH whatever there is, is
// brought by `git fetch --depth=1` of it.
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// Options say where a Store works.
type Options struct {
	// Dir keeps clones, and private files while a fetch runs. It is made if absent, for this user only. One store at a time.
	Dir string
	// Executable is the program that runs SSHMain where IsSSH says so: truce itself.
	Executable string
	// Servers are those that may be connected to; the zero value allows public and private addresses.
	Servers egress.Policy
	// Clouds gives the credentials of repositories of clouds; nil for none.
	Clouds *cloud.Exchange
	// Memory is how much memory all git processes that run at a time may use, in bytes; one command at most 1 GiB. Zero means 1 GiB.
	Memory int64
	// CacheBytes bounds the file contents kept in memory; zero means 64 MiB.
	CacheBytes int64
}

// Store fetches from Git repositories. It is a source.Fetcher and a source.Watcher.
type Store struct {
	options Options
	lock    *os.File
	key     []byte // turns address and credentials into a clone's name
	runner  runner
	shared  *shared
	flights flights

	mu     sync.Mutex
	repos  map[string]*repository // by git directory
	clones map[string]*clone      // by name
}

// ErrBusy says that another store is open in the directory.
var ErrBusy = errors.New("another process keeps its clones there")

// OpenStore opens the store in o.Dir, or returns ErrBusy. Its git program is the one on PATH, of which the version is checked.
func OpenStore(o Options) (*Store, error) {
	r, err := newRunner(o)
	if err != nil {
		return nil, fmt.Errorf("open git store: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open git store: %w", err)
	}
	s, err := newStore(o, r)
	if err != nil {
		return nil, fmt.Errorf("open git store: %w", errors.Join(err, unlockDir(lock)))
	}
	s.lock = lock
	return s, nil
}

// lockDir makes a directory this store's alone, until unlockDir or the end of the process.
func lockDir(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%s: %w", dir, ErrBusy)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// unlockDir gives a directory free. Closing the file is not enough: a child that another goroutine has forked, and that has not begun its program
// yet, holds a copy.
func unlockDir(lock *os.File) error {
	return errors.Join(syscall.Flock(int(lock.Fd()), syscall.LOCK_UN), lock.Close())
}

func newStore(o Options, r runner) (*Store, error) {
	if err := os.RemoveAll(filepath.Join(o.Dir, "run")); err != nil { // secrets that a crash left
		return nil, err
	}
	key, err := storeKey(filepath.Join(o.Dir, "key"))
	if err != nil {
		return nil, err
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 64 << 20
	}
	return &Store{
		options: o, key: key, runner: r, shared: &shared{blobs: newBlobCache(o.CacheBytes)},
		repos: map[string]*repository{}, clones: map[string]*clone{},
	}, nil
}

// SetServers sets the servers that may be connected to, for repositories that were not fetched before. It may not be called during a fetch.
func (s *Store) SetServers(p egress.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Servers = p
}

// Close ends the processes that read objects. Trees cannot be read any more.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.repos {
		r.objects.close()
	}
	return unlockDir(s.lock)
}

// Fetch implements source.Fetcher.
func (s *Store) Fetch(ctx context.Context, spec source.Spec) (source.Artifact, error) {
	a, err := parseAddress(spec.URL)
	if err != nil {
		return source.Artifact{}, &source.Error{Op: "fetch", Subject: a.String(), Reason: source.URLInvalid, Err: err}
	}
	bounded, cancel := spec.Bound(ctx)
	defer cancel()
	artifact, err := s.fetchAny(bounded, a, spec)
	if err != nil {
		return source.Artifact{}, fetchError(bounded, a, spec.Auth, err)
	}
	artifact.Repository = source.RepositoryOf(spec.URL)
	return artifact, nil
}

// fetchAny looks for a name that may be a branch's, a tag's or a commit's among all.
func (s *Store) fetchAny(ctx context.Context, a address, spec source.Spec) (source.Artifact, error) {
	var artifact source.Artifact
	err := eachMeaning(spec.Ref, func(r source.Ref) (err error) {
		spec.Ref = r
		artifact, err = s.fetch(ctx, a, spec)
		return err
	})
	return artifact, err
}

// eachMeaning tries a reference, and a name that is neither a branch's nor a tag's as the first digits of a commit, if it can be these.
func eachMeaning(r source.Ref, try func(source.Ref) error) error {
	err := try(r)
	if r != (source.Ref{Any: r.Any}) || errorReason(err) != source.RefNotFound || !shortForm.MatchString(r.Any) {
		return err
	}
	shortErr := try(source.Ref{Any: r.Any, Commit: strings.ToLower(r.Any)})
	if errorReason(shortErr) == source.RefNotFound {
		return sourceError(source.RefNotFound, "%w; %w", err, shortErr)
	}
	return shortErr
}

func (s *Store) fetch(ctx context.Context, a address, spec source.Spec) (source.Artifact, error) {
	want, err := parseRef(spec.Ref)
	if err == nil && want.short != "" {
		_, at, missing := s.resolve(ctx, a, spec, want)
		want, err = ref{commit: at.commit}, missing
	}
	if err != nil {
		return source.Artifact{}, err
	}
	artifact, repo, err := s.artifact(ctx, a, spec, want)
	if err != nil && !a.local() && repo != nil && repo.suspected.Load() {
		artifact, _, err = s.artifact(ctx, a, spec, want) // from another clone, if this one is damaged
	}
	return artifact, err
}

// artifact resolves a reference and reads what is there. It returns the repository if it came as far as reading.
func (s *Store) artifact(ctx context.Context, a address, spec source.Spec, want ref) (source.Artifact, *repository, error) {
	repo, at, err := s.resolve(ctx, a, spec, want)
	if err != nil {
		return source.Artifact{}, nil, err
	}
	verified, err := repo.verify(at, want.named(cmp.Or(at.name, want.name)), spec.Verify)
	if err != nil {
		return source.Artifact{}, repo, err
	}
	files, err := s.files(ctx, a, spec, checkout{repo: repo, commit: at.commit})
	if err != nil {
		return source.Artifact{}, repo, err
	}
	artifact, err := repo.artifact(at, files)
	artifact.Verified = verified
	return artifact, repo, err
}

// resolve finds the commit: in place, or by a fetch that concurrent callers share.
func (s *Store) resolve(ctx context.Context, a address, spec source.Spec, want ref) (*repository, revision, error) {
	if a.local() {
		dir, err := findGitDir(a.path)
		if err != nil {
			return nil, revision{}, err
		}
		repo := s.repository(dir)
		at, err := repo.find(ctx, want)
		return repo, at, err
	}
	a, auth, err := credentials(a, spec.Auth)
	if err != nil {
		return nil, revision{}, err
	}
	name := cloneName(s.key, a, auth)
	if want.short != "" {
		name += "-whole" // so that the clone that polls stays shallow
	}
	for {
		c := s.cloneNamed(name, a, auth)
		at, err := s.flights.do(ctx, c.name+" "+want.key(), func(ctx context.Context) (revision, error) {
			return c.fetch(ctx, want, reach{limits: spec.Limits.OrDefault(), addresses: spec.Addresses, timeout: spec.Timeout})
		})
		if !errors.Is(err, errRemoved) {
			return c.repo, at, err
		}
	}
}

// repository is the one reader of a git directory.
func (s *Store) repository(dir string) *repository {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reader(dir)
}

// reader is repository, for a caller that holds mu.
func (s *Store) reader(dir string) *repository {
	r, ok := s.repos[dir]
	if !ok {
		r = newRepository(dir, s.runner, s.shared)
		s.repos[dir] = r
	}
	return r
}

func reasonOf(cause error) source.Reason {
	if errors.Is(cause, context.DeadlineExceeded) {
		return source.Timeout
	}
	return ""
}

// makePrivate makes a directory that only this user can enter.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}
