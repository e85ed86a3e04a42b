package compose

import (
	"github.com/truce-gitops/truce/internal/apply/impersonate"
	"github.com/truce-gitops/truce/internal/apply/remote"
	"github.com/truce-gitops/truce/internal/apply/ssa"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/admission"
	"github.com/truce-gitops/truce/internal/controller/events"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/reconcile/served"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// remotes opens other clusters for apps with a kubeconfig. What is rendered, recorded and noted stays with the cluster of the custom resources.
type remotes struct {
	parts   *parts
	home    reconcile.Dependencies // of that cluster
	servers egress.Policy
}

// Clouds implements controller.Remotes.
func (r remotes) Clouds() *cloud.Exchange { return r.parts.clouds }

// Open implements controller.Remotes.
func (r remotes) Open(k cluster.Kubeconfig) (controller.Remote, error) {
	to, err := remote.Connect(k, remote.Options{UserAgent: r.parts.cluster.Config().UserAgent, Dialer: transport.Dialer{Servers: r.servers}, Term: r.parts.term})
	if err != nil {
		return controller.Remote{}, err
	}
	client := to.Client()
	reader := list.Reader{Cluster: client}
	configured := &admission.Reader{Cluster: client, Live: reader}
	d := r.home
	answers := served.Scopes{Cluster: client}
	d.Scope, d.Version, d.Scale, d.Checkers = answers, answers, served.ScalePath(client, reader), checkers(client)
	d.Live, d.Writer, d.History = reader, remote.Writer{Connection: to, Next: ssa.Writer{Cluster: client}}, &live.History{}
	d.Home = r.home.Identities
	d.Identities = remote.Identities{Connection: to, Next: impersonate.NewAccess(client, tenancy.Access{Live: reader, Writer: ssa.Writer{Cluster: client}})}
	d.Foreign = instance.RemoteApps{Home: r.home.Live, There: reader}
	d.Witnesses = reconcile.WriterEvidence{Events: events.NewReader(client), Delay: r.home.Witnesses.Delay}
	if d.Journal != nil {
		d.Journal = remoteJournal{d.Journal, k.Server()}
	}
	if d.Memories != nil {
		d.Memories = remoteMemories{d.Memories, k.ServerDigest()}
	}
	return controller.Remote{
		Client: client, Watcher: watch.Watcher{Cluster: client, History: d.History}, Configured: configured, Connection: to, Dependencies: d,
	}, nil
}

// remoteJournal notes of each entry in which cluster its object is.
type remoteJournal struct {
	journal.Journal
	server string
}

// Append implements journal.Journal.
func (j remoteJournal) Append(entries ...journal.Entry) {
	for i := range entries {
		entries[i].Cluster = j.server
	}
	j.Journal.Append(entries...)
}

// remoteMemories keeps the memories of objects apart from those of equal names in other clusters.
type remoteMemories struct {
	journal.MemoryStore
	cluster string
}

// Remember implements journal.MemoryStore.
func (m remoteMemories) Remember(id object.ID, memory []byte) {
	m.MemoryStore.Remember(m.of(id), memory)
}

// Recall implements journal.MemoryStore.
func (m remoteMemories) Recall(id object.ID) ([]byte, error) { return m.MemoryStore.Recall(m.of(id)) }

func (m remoteMemories) of(id object.ID) object.ID {
	id.Namespace = m.cluster + ":" + id.Namespace
	return id
}
