package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	"github.com/truce-gitops/truce/examples"
	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/source/git"
	"golang.org/x/sync/errgroup"
)

// starting is a world as far as it has been started.
type starting struct {
	options cli.UpOptions
	version string
	say     func(string)
	world   *cli.UpEnvironment
	foreign bool           // the cluster is not ours
	close   []func() error // what is to be ended, in the order in which it was started
	parts   *parts
	notices chan reconcile.FindingEvent
	ended   chan struct{}
	end     sync.Once
	err     error
}

// up starts what `truce up` starts. When it fails, nothing of it goes on.
func up(version string) func(context.Context, cli.UpOptions, func(string)) (*cli.UpEnvironment, error) {
	return func(ctx context.Context, o cli.UpOptions, say func(string)) (*cli.UpEnvironment, error) {
		s := &starting{
			options: o, version: version, say: say, world: &cli.UpEnvironment{},
			notices: make(chan reconcile.FindingEvent, 256), ended: make(chan struct{}),
		}
		for _, step := range []func(context.Context) error{
			s.directory, // ours alone
			s.server,    // an API server: the sandbox, or the one that is named
			s.install,   // that knows the custom resources
			s.repository,
			s.controller,
			s.resources, // which point the controller at the repository
			s.client,
		} {
			if err := step(ctx); err != nil {
				return nil, errors.Join(err, s.stop())
			}
		}
		s.world.Close = func() { _ = s.stop() } // the processes are ours, and killed where they did not end
		s.world.Notices, s.world.Ended, s.world.Err = s.notices, s.ended, func() error { return s.err }
		return s.world, nil
	}
}

// stop ends what was started, the newest first.
func (s *starting) stop() error {
	var all []error
	for _, end := range slices.Backward(s.close) {
		all = append(all, end())
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

func (s *starting) directory(context.Context) error {
	self, err := called()
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
	s.close = append(s.close, lock.Close)
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
		s.say("cluster: as the kubeconfig says; no sandbox is started, and what is brought there stays")
		return nil
	}
	if s.options.Reset {
		if err := s.reset(); err != nil {
			return err
		}
	}
	s.say("starting a sandbox: a real Kubernetes API server and its controllers, on this machine only")
	begin := time.Now()
	box, err := startSandbox(ctx, filepath.Join(s.options.Dir, "sandbox"))
	if err != nil {
		return err
	}
	s.close = append(s.close, box.stop)
	go func() {
		<-box.ended
		s.over(fmt.Errorf("the sandbox has ended: %w\n%s", cmp.Or(box.err, errors.New("by itself")), tail(box.log)))
	}()
	s.options.Kubeconfig = filepath.Join(s.options.Dir, "kubeconfig")
	s.world.Kubeconfig = s.options.Kubeconfig
	s.world.Kubectl = kubectl(box.cmd.Path)
	text, err := os.ReadFile(box.kubeconfig)
	if err != nil {
		return err
	}
	s.say(fmt.Sprintf("Kubernetes is ready (%s)", took(begin)))
	return os.WriteFile(s.options.Kubeconfig, text, 0o600)
}

// called is the path that this program was called by, which may be a link: os.Executable resolves it.
func called() (string, error) {
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
		s.say("removing the cluster of an earlier run; its repository stays")
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

func took(since time.Time) string { return time.Since(since).Round(10 * time.Millisecond).String() }

func (s *starting) install(ctx context.Context) error {
	var err error
	s.parts, err = assemble(s.options.Target, s.version, cloning{filepath.Join(s.options.Dir, "clones"), local.AnyServer}, supervision{metrics: metrics.NewMetrics(s.version)})
	if err != nil {
		return err
	}
	s.close = append(s.close, s.parts.close)
	begin := time.Now()
	installed, notes, err := install(ctx, s.parts.cluster)
	if err != nil {
		return err
	}
	s.brought(installed)
	s.say(fmt.Sprintf("custom resources are served (%s)", took(begin)))
	for _, n := range notes {
		s.say(n)
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
	s.say("repository: " + s.world.Repo)
	return nil
}

func (s *starting) controller(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.options.Dir, "truce.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.close = append(s.close, log.Close)
	o := cli.ControllerOptions{
		Target: s.options.Target, Process: s.options.Process, Listen: s.options.Listen, Witness: s.options.Witness, MetricsListen: s.options.MetricsListen, LocalSources: true,
		Log: slog.New(slog.NewTextHandler(log, nil)),
	}
	if err := s.parts.remember(filepath.Join(s.options.Dir, "state"), o.Log); err != nil {
		return err
	}
	service := newService(s.parts, o, s.notice, nil)
	if err := service.listen(); err != nil {
		return err
	}
	if service.local != nil {
		s.world.URL = "http://" + service.local.Addr().String()
		s.world.Page = s.world.URL + service.access.Login()
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error {
		err := service.run(running)
		if running.Err() == nil {
			s.over(fmt.Errorf("the controller has ended: %w", cmp.Or(err, errors.New("by itself"))))
		}
		return err
	})
	s.close = append(s.close, func() error { cancel(); return g.Wait() })
	return nil
}

// notice passes a notice on; without a reader it is dropped: the engine does not wait.
func (s *starting) notice(n reconcile.FindingEvent) {
	select {
	case s.notices <- n:
	default:
	}
}

func (s *starting) resources(ctx context.Context) error {
	objects, err := s.wanted()
	if err != nil {
		return err
	}
	if err := bring(ctx, s.parts.cluster, objects); err != nil {
		return err
	}
	s.brought(objects)
	return nil
}

// brought lists what was installed into an existing cluster.
func (s *starting) brought(objects []object.Object) {
	if !s.foreign {
		return
	}
	for _, o := range objects {
		name := strings.Trim(o.Namespace()+"/"+o.Name(), "/")
		s.world.Brought = append(s.world.Brought, o.GVK().Kind+"/"+name)
		s.say("brought " + o.GVK().Kind + " " + name)
	}
}

// wanted are the custom resources: those of the demo's own clusters/demo, or a source and an app for the user's repository.
func (s *starting) wanted() ([]object.Object, error) {
	if !s.world.Demo {
		return ofRepository(s.world.Repo, s.options), nil
	}
	objects, err := manifests(os.DirFS(s.world.Repo), "clusters/demo")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.world.Repo, err)
	}
	for _, o := range objects {
		if spec, ok := o["spec"].(map[string]any); ok && o.GVK() == registry.GitRepositories {
			spec["url"] = s.world.Repo
		}
	}
	// Namespaces first, then sources: what the others need.
	rank := map[string]int{"Namespace": 0, registry.GitRepositories.Kind: 1}
	slices.SortStableFunc(objects, func(a, b object.Object) int { return order(rank, a) - order(rank, b) })
	return objects, nil
}

func order(rank map[string]int, o object.Object) int {
	if n, ok := rank[o.GVK().Kind]; ok {
		return n
	}
	return len(rank)
}

// home is the namespace of the custom resources that `truce up --repo` makes, as `flux bootstrap` has it.
const home = "flux-system"

func ofRepository(url string, o cli.UpOptions) []object.Object {
	name := nameOf(url)
	meta := func() map[string]any { return map[string]any{"name": name, "namespace": home} }
	spec := map[string]any{"interval": "1m", "url": url, "ref": map[string]any{"name": "HEAD"}}
	if o.Branch != "" {
		spec["ref"] = map[string]any{"branch": o.Branch}
	}
	return []object.Object{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": home}},
		{"apiVersion": registry.GitRepositories.APIVersion(), "kind": registry.GitRepositories.Kind, "metadata": meta(), "spec": spec},
		{
			"apiVersion": registry.Kustomizations.APIVersion(), "kind": registry.Kustomizations.Kind, "metadata": meta(),
			"spec": map[string]any{
				"interval": "10m", "path": cmp.Or(o.Path, "./"), "prune": true,
				"sourceRef": map[string]any{"kind": registry.GitRepositories.Kind, "name": name},
			},
		},
	}
}

// nameOf makes an object's name of the last part of a repository's address.
func nameOf(url string) string {
	last := url[strings.LastIndexAny(url, "/:")+1:]
	last = strings.ToLower(strings.TrimSuffix(last, ".git"))
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, last)
	const most = 50
	clean = strings.Trim(clean[:min(len(clean), most)], "-")
	return cmp.Or(clean, "repository")
}

func (s *starting) client(ctx context.Context) error {
	c, err := connect(s.version)(ctx, s.options.Target)
	if err != nil {
		return err
	}
	s.world.Cluster = c
	s.close = append(s.close, func() error { c.Close(); return nil })
	return nil
}
