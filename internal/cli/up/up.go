// Package up answers: what does `truce up` start on a machine, and how does it end?
//
// In: a directory, a repository or none, and a cluster or none; what puts a controller together.
// Out: an API server (the sandbox, or the one that is named), truce's CRDs in it, a repository, a running controller, and the custom
// resources that point it at the repository.
// Promise: where one of these fails, nothing that was started goes on; the cluster of others gets nothing that is not listed.
// Not here: what is printed, and the tour (cli); how a controller is put together (compose).
package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/examples"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/manager"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source/git"
)

// Options are the flags of `truce up`. Those of its controller are Process, Witness, Listen and MetricsListen.
type Options struct {
	manager.Options
	Version string // of truce
	Dir     string
	Repo    string // a URL or a path; empty for a copy of the demo
	Path    string
	Branch  string
	// Names are further names of Repo's source, in Home.
	Names []string
	// TargetNamespace is the namespace of all objects of Repo; empty for the one that each names.
	TargetNamespace string
	// Reset removes the cluster of an earlier run, but not its repository.
	Reset bool
}

// Builder puts a controller together.
type Builder interface {
	// NewManager returns a controller that keeps its clones in a directory of its own. The caller closes it.
	NewManager(o manager.Options, clones string, by controller.Observer) (*manager.Manager, error)
}

// Environment is what `truce up` has started.
type Environment struct {
	Kubeconfig string `json:"kubeconfig"`
	Repo       string `json:"repo"`               // a URL or a path
	URL        string `json:"url"`                // of the status page, /healthz and /metrics
	Page       string `json:"page"`               // a link that logs in the first browser that opens it
	Webhooks   string `json:"webhooks,omitempty"` // the URL before the paths of webhooks; empty for none
	Kubectl    string `json:"kubectl,omitempty"`
	Truce      string `json:"-"` // the program itself
	// Context is the one of the kubeconfig, where it is not its current one.
	Context string `json:"context,omitempty"`
	// Brought are the objects that were put into a cluster that is not ours, and stay there: kind/name or kind/namespace/name.
	Brought []string `json:"brought,omitempty"`
	Demo    bool     `json:"-"` // Repo is ours to change
	// Notices are what the engine does about fields, as it does it. Without a reader some are lost, and nothing is delayed.
	Notices <-chan report.FindingEvent `json:"-"`
	// Ended is closed when the controller or the sandbox has ended by itself; Err returns why then.
	Ended <-chan struct{} `json:"-"`

	started *starting
}

// Err returns why the controller or the sandbox has ended by itself, once it has.
func (e *Environment) Err() error { return e.started.err }

// Close ends all that was started, within five seconds.
func (e *Environment) Close() { _ = e.started.stop() } // the processes are ours, and killed where they did not end

// starting is an environment as far as it has been started.
type starting struct {
	controller.NoObserver
	options Options
	builder Builder
	steps   Steps
	world   *Environment
	cluster *cluster.Client
	manager *manager.Manager
	foreign bool        // the cluster is not ours
	close   []io.Closer // what is to be ended, in the order in which it was started
	notices chan report.FindingEvent
	ended   chan struct{}
	end     sync.Once
	err     error
}

// Steps prints a step when it is done.
type Steps interface{ Step(text string) }

// StartAll starts what the options ask for, and prints each step. The caller closes the Environment.
func StartAll(ctx context.Context, b Builder, o Options, to Steps) (*Environment, error) {
	s := &starting{
		options: o, builder: b, steps: to, world: &Environment{},
		notices: make(chan report.FindingEvent, 256), ended: make(chan struct{}),
	}
	for _, step := range []func(context.Context) error{
		s.found,     // what is asked for, before anything is started for it
		s.directory, // ours alone
		s.server,    // an API server: the sandbox, or the one that is named
		s.install,   // that knows the custom resources
		s.repository,
		s.controller,
		s.resources, // which point the controller at the repository
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	s.world.Notices, s.world.Ended, s.world.started = s.notices, s.ended, s
	return s.world, nil
}

// stop ends what was started, the newest first.
func (s *starting) stop() error {
	var all []error
	for _, end := range slices.Backward(s.close) {
		all = append(all, end.Close())
	}
	s.close = nil
	return errors.Join(all...)
}

// over reports that a part has ended that should not have.
func (s *starting) over(err error) {
	s.end.Do(func() {
		s.err = err
		close(s.ended)
	})
}

// found refuses a repository, a branch or a path that is not there, where the repository is a directory of this machine.
func (s *starting) found(ctx context.Context) error {
	repo := s.options.Repo
	if repo == "" || strings.Contains(repo, ":") && !filepath.IsAbs(repo) {
		return nil
	}
	if _, err := os.Stat(repo); errors.Is(err, fs.ErrNotExist) {
		return exit.WithCode(exit.Usage, fmt.Errorf("--repo %s: no such directory", repo))
	}
	commit, err := git.ResolveCommit(ctx, repo, cmp.Or(s.options.Branch, "HEAD"))
	if err != nil {
		return exit.WithCode(exit.Usage, fmt.Errorf("--repo %s: %w", repo, err))
	}
	path := filepath.ToSlash(filepath.Clean("/" + s.options.Path))[1:]
	if path == "" {
		return nil
	}
	there, err := git.HasPath(ctx, repo, commit, path)
	if _, absent := os.Stat(filepath.Join(repo, path)); err != nil || there || absent == nil { // a symbolic link may lead there
		return err
	}
	return exit.WithCode(exit.Usage, fmt.Errorf("--path %s: no such directory at %s of %s", s.options.Path, cmp.Or(s.options.Branch, "HEAD"), repo))
}

func (s *starting) directory(context.Context) error {
	self, err := programPath()
	if err != nil {
		return err
	}
	s.world.Truce = self
	dir, err := filepath.Abs(s.options.Dir)
	if err != nil {
		return err
	}
	s.options.Dir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	s.close = append(s.close, lock)
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another `truce up` runs on %s: end it, or name another --dir", dir)
	}
	return err
}

func (s *starting) server(ctx context.Context) error {
	if s.options.Kubeconfig != "" || s.options.Context != "" {
		s.world.Kubeconfig, s.world.Context = s.options.Kubeconfig, s.options.Context
		s.foreign = true
		s.steps.Step("cluster: as the kubeconfig says; no sandbox is started, and what is brought there stays")
		return nil
	}
	if s.options.Reset {
		if err := s.reset(); err != nil {
			return err
		}
	}
	s.steps.Step("starting a sandbox: a real Kubernetes API server and its controllers, on this machine only")
	begin := time.Now()
	box, err := startSandbox(ctx, filepath.Join(s.options.Dir, "sandbox"))
	if err != nil {
		return err
	}
	s.close = append(s.close, box)
	go func() {
		<-box.ended
		s.over(fmt.Errorf("the sandbox has ended: %w\n%s", cmp.Or(box.err, errors.New("by itself")), logTail(box.log)))
	}()
	s.options.Kubeconfig = filepath.Join(s.options.Dir, "kubeconfig")
	s.world.Kubeconfig = s.options.Kubeconfig
	s.world.Kubectl = kubectl(box.cmd.Path)
	text, err := os.ReadFile(box.kubeconfig)
	if err != nil {
		return err
	}
	s.steps.Step(fmt.Sprintf("Kubernetes is ready (%s)", elapsed(begin)))
	return os.WriteFile(s.options.Kubeconfig, text, 0o600)
}

// programPath is the path that this program was called by, which may be a link: os.Executable resolves it.
func programPath() (string, error) {
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return os.Executable()
	}
	return filepath.Abs(path)
}

// reset removes what an earlier run has left of its cluster, and the journal about it.
func (s *starting) reset() error {
	old := filepath.Join(s.options.Dir, "sandbox")
	if _, err := os.Stat(old); err == nil {
		s.steps.Step("removing the cluster of an earlier run; its repository stays")
	}
	return errors.Join(os.RemoveAll(old), os.RemoveAll(filepath.Join(s.options.Dir, "state")))
}

// kubectl lies beside the sandbox, where `make build` puts it; else it may be on PATH.
func kubectl(sandbox string) string {
	beside := filepath.Join(filepath.Dir(sandbox), "kubectl")
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return "kubectl"
}

func elapsed(since time.Time) string { return time.Since(since).Round(10 * time.Millisecond).String() }

func (s *starting) install(ctx context.Context) error {
	var err error
	if s.cluster, err = cluster.Connect(cluster.Options{Target: s.options.Target, UserAgent: "truce/" + s.options.Version}); err != nil {
		return err
	}
	begin := time.Now()
	notes, err := s.definitions(ctx)
	if err != nil {
		return err
	}
	s.steps.Step(fmt.Sprintf("custom resources are served (%s)", elapsed(begin)))
	for _, n := range notes {
		s.steps.Step(n)
	}
	return nil
}

func (s *starting) repository(ctx context.Context) error {
	if s.options.Repo != "" {
		s.world.Repo = s.options.Repo
		if _, err := os.Stat(s.options.Repo); err == nil { // a path, perhaps a relative one
			s.world.Repo, err = filepath.Abs(s.options.Repo)
			return err
		}
		return nil
	}
	demo, err := fs.Sub(examples.Demo, "demo")
	if err != nil {
		return err
	}
	s.world.Demo, s.world.Repo = true, filepath.Join(s.options.Dir, "repo")
	if err := git.SeedRepository(ctx, s.world.Repo, demo); err != nil {
		return err
	}
	s.steps.Step("repository: " + s.world.Repo)
	return nil
}

func (s *starting) controller(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.options.Dir, "truce.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.close = append(s.close, log)
	o := s.options.Options
	if !s.foreign { // all is on this machine: the person's own servers, too
		o.Sources.Allowed = append(slices.Clone(o.Sources.Allowed), "127.0.0.0/8", "::1/128")
	}
	o.LocalSources, o.CacheDir, o.Log = controller.AllowLocal, filepath.Join(s.options.Dir, "state"), slog.New(slog.NewTextHandler(log, manager.LogOptions(slog.LevelInfo)))
	if s.manager, err = s.builder.NewManager(o, filepath.Join(s.options.Dir, "clones"), s); err != nil {
		return err
	}
	s.close = append(s.close, s.manager)
	if err := s.manager.Listen(); err != nil {
		return err
	}
	s.world.URL, s.world.Page = s.manager.Page()
	s.world.Webhooks = s.manager.WebhookURL()
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &run{cancel: cancel}
	r.group.Go(func() error {
		err := s.manager.Run(running)
		if running.Err() == nil {
			s.over(fmt.Errorf("the controller has ended: %w", cmp.Or(err, errors.New("by itself"))))
		}
		return err
	})
	s.close = append(s.close, r)
	return nil
}

// run is a controller at work.
type run struct {
	cancel context.CancelFunc
	group  errgroup.Group
}

// Close ends it, and waits for its end.
func (r *run) Close() error {
	r.cancel()
	return r.group.Wait()
}

// OnFinding passes a finding on; without a reader it is dropped: the engine does not wait.
func (s *starting) OnFinding(n report.FindingEvent) {
	select {
	case s.notices <- n:
	default:
	}
}
