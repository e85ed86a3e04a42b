package stories

import (
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// oneWriter is a promise of the scenes with an election.
const oneWriter = "no two truces write within one term of the Lease"

// candidates are the names of the two truces of a pair; the first one is elected before the second starts.
var candidates = []string{"first", "second"}

// pair is two truces of which one is elected to work. One that ends is started again, as a Deployment would.
type pair struct {
	*election
	host *host

	mu        sync.Mutex
	processes map[string]*process
	stopped   string // the one that the scene has stopped, which the end of a pause must not continue
	dismissed bool
	kept      sync.WaitGroup
}

// elect starts a pair, unless it runs.
func (s *stage) elect() {
	s.t.Helper()
	if s.pair.processes != nil {
		return
	}
	s.pair.processes = map[string]*process{}
	for i, name := range candidates {
		s.pair.keep(name)
		if i == 0 {
			s.pair.leads(0)
		}
	}
}

// newPair is a pair on a stage that does not run yet.
func newPair(s *stage) *pair {
	s.t.Helper()
	return &pair{host: s.host, election: &election{world: s.world, lease: s.Watch(s.t, electionLeases, s.ns, "truce-controller")}}
}

// keep runs a candidate until the pair is dismissed.
func (p *pair) keep(name string) {
	p.t.Helper()
	dir := p.t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"toll": {Server: p.host.toll.api, CertificateAuthorityData: p.host.toll.ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Impersonate: p.user(name), ImpersonateGroups: []string{"system:masters"}}},
		Contexts:       map[string]*clientcmdapi.Context{"toll": {Cluster: "toll", AuthInfo: name}},
		CurrentContext: "toll",
	}
	if err := clientcmd.WriteToFile(config, kubeconfig); err != nil {
		p.t.Fatal(err)
	}
	begin := func() (*process, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.dismissed {
			return nil, nil
		}
		x, err := startProcess(filepath.Join(dir, "log"), p.host.binary, "controller", "--kubeconfig", kubeconfig, "--cache-dir", dir, "--listen", "",
			"--allow-source-hosts", "127.0.0.0/8", "--namespace", p.ns, "--leader-elect", leaseOf)
		p.processes[p.user(name)] = x
		return x, err
	}
	x, err := begin()
	if err != nil {
		p.t.Fatal(err)
	}
	p.kept.Go(func() {
		for x != nil {
			<-x.ended
			kubetest.Span(p.ctx, glance) // what starts it again does not do so at once
			if x, err = begin(); err != nil {
				p.t.Errorf("start %s again: %v", name, err)
				return
			}
		}
	})
}

// dismiss ends the pair, and checks that both end when they are asked to.
func (p *pair) dismiss() {
	p.t.Helper()
	p.mu.Lock()
	p.dismissed = true
	all := p.all()
	p.mu.Unlock()
	for _, x := range all {
		_ = syscall.Kill(x.pid, syscall.SIGCONT) // it may have ended
		_ = syscall.Kill(x.pid, syscall.SIGTERM)
	}
	for _, x := range all {
		select {
		case <-x.ended:
		case <-time.After(patience):
			p.t.Errorf("truce does not end on SIGTERM:\n%s", x.said())
			_ = syscall.Kill(x.pid, syscall.SIGKILL)
		}
	}
	p.kept.Wait()
}

// all are the processes. The caller holds mu.
func (p *pair) all() []*process {
	var out []*process
	for _, x := range p.processes {
		if x.running() {
			out = append(out, x)
		}
	}
	return out
}

// said is the log of both.
func (p *pair) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ""
	for name, x := range p.processes {
		text += name + ":\n" + x.said() + "\n"
	}
	return text
}

// busy reports whether one of the two has something to compute.
func (p *pair) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.all(), (*process).busy)
}

// stop stops a truce until proceed.
func (p *pair) stop(name string) {
	p.mu.Lock()
	p.stopped = name
	p.mu.Unlock()
	p.signal(name, syscall.SIGSTOP)
}

func (p *pair) kill(name string) { p.signal(name, syscall.SIGKILL) }

func (p *pair) proceed(name string) {
	p.mu.Lock()
	p.stopped = ""
	p.mu.Unlock()
	p.signal(name, syscall.SIGCONT)
}

// endPause continues a truce that a fault has paused, unless the scene has stopped it meanwhile.
func (p *pair) endPause(name string) {
	p.mu.Lock()
	stopped := p.stopped == name
	p.mu.Unlock()
	if !stopped {
		p.signal(name, syscall.SIGCONT)
	}
}

// signal sends a signal to the truce of that name. One that has ended gets none: another fault has come first.
func (p *pair) signal(name string, s syscall.Signal) {
	p.mu.Lock()
	x := p.processes[name]
	p.mu.Unlock()
	if !x.running() {
		return
	}
	_ = x.signal(s) // it may just have ended
	if s == syscall.SIGKILL {
		<-x.ended
	}
}

// changes are the scenes of a leader that is lost in the middle of its work.
var changes = []scene{
	{
		name: "leader change, the leader is killed", files: shop, live: true, elected: true, objects: whole, floor: 3,
		trigger: func(s *stage) { _ = s.succeeded(s.pair.kill) }, // who led does not matter any more
	},
	{
		name: "leader change, the leader is stopped for a while", files: shop, live: true, elected: true, objects: whole, floor: 3,
		trigger: func(s *stage) {
			s.pair.proceed(s.succeeded(s.pair.stop))
		},
	},
}

// succeeded is a commit in the midst of whose run the leader is lost. It returns that leader's name when the other one leads.
func (s *stage) succeeded(lose func(name string)) (leader string) {
	s.t.Helper()
	const begun = 4 // requests: it has not done all
	before := s.pair.transitions()
	s.edit("app/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
	s.edit("app/a.yaml", "colour: blue", "shape: round")
	s.look()
	s.until("the leader to begin", func() bool { return s.toll.traffic().seen >= begun })
	leader = s.toll.elected() // on a busy machine a candidate may lose the Lease before
	lose(leader)
	s.pair.leads(before + 1)
	return leader
}

// transitions is how often the Lease has changed hands.
func (p *pair) transitions() int64 {
	p.t.Helper()
	values := p.lease.Values()
	return transitionsOf(values[len(values)-1])
}

func transitionsOf(v kubetest.Value) int64 {
	spec, _ := v.Object.Object["spec"].(map[string]any)
	n, _ := spec["leaseTransitions"].(int64)
	return n
}
