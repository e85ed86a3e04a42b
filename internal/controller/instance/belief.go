package instance

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/cluster/lease"
)

// Who may write ConfigMaps in a namespace may publish one that looks like an instance's, with a Secret, a Lease and a pod beside it: nothing within a
// namespace proves an instance. What counts is the namespace: one that only administrators write to goes before all others.

// place says how far the namespace of an instance is trusted, the most trusted first.
type place int

const (
	atInstallation place = iota // the namespace that deploy/ installs truce in
	atConnection                // the namespace of the kubeconfig's context
	elsewhere
)

func (i Instance) place() place {
	switch {
	case i.Home() == deployed:
		return atInstallation
	case i.cluster != nil && i.Home() == i.cluster.Namespace():
		return atConnection
	}
	return elsewhere
}

// inOrder drops what no instance publishes: another name, or a namespace that is not where its own flags put it (ADR 30). The most trusted come first.
func inOrder(all []Instance) []Instance {
	all = slices.DeleteFunc(all, func(i Instance) bool {
		return i.configMap.Name() != ConfigMap || i.Namespaces().Home(i.value(keyHome), i.Home()) != i.Home()
	})
	slices.SortStableFunc(all, func(a, b Instance) int {
		return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(a.Home(), b.Home()))
	})
	return all
}

// IsBelieved reports whether the instance is believed about a namespace: it says that it works for it, and so does none of a more trusted place among
// all. For "" it is believed about any namespace.
func (i Instance) IsBelieved(namespace string, all []Instance) bool {
	if namespace != "" && !i.Namespaces().Cover(namespace) {
		return false
	}
	return !slices.ContainsFunc(all, func(by Instance) bool { return by.place() < i.place() && by.Namespaces().Cover(namespace) })
}

// withoutEnded drops the instances of trusted places that have ended, where there are others: their ConfigMaps are left over. One whose Lease is not there,
// or may not be read, is not known to have ended. It blocks for a bounded time.
func withoutEnded(ctx context.Context, all []Instance) []Instance {
	if len(all) == 0 || all[len(all)-1].place() == all[0].place() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(i Instance) bool { return i.place() != elsewhere && i.hasEnded(ctx) })
}

// hasEnded reports whether there is a Lease of the instance that is not held, and its page does not answer.
func (i Instance) hasEnded(ctx context.Context) bool {
	u, err := i.cluster.Dynamic().Resource(lease.Resource).Namespace(i.Home()).Get(ctx, LeaseName, metav1.GetOptions{})
	return err == nil && !lease.IsLeaseHeld(u.Object, time.Now()) && i.pageAnswers(ctx) != nil
}

// isLocalPage reports whether an address is one that an instance publishes for commands on its own machine. A ConfigMap may name any other one.
func isLocalPage(address string) bool {
	u, err := url.Parse(address)
	if err != nil || address != "http://"+u.Host || u.User != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return false
	}
	if ip = ip.Unmap(); ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == ip.WithZone("")
	})
}
