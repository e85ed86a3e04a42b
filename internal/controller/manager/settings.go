package manager

import (
	"cmp"
	"net"
	"strings"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/leader"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// settings returns what a controller runs with, for the first line of its log: what decides what it does, and where it answers.
func (m *Manager) settings() []any {
	o, c := m.options, m.Cluster
	return []any{
		"version", m.Version, "server", c.Config().Host,
		"namespaces", cmp.Or(strings.Join(o.Namespaces, ","), "all"), "home", o.Home(c.Namespace()),
		"mode", cmp.Or(o.Process.Mode, policy.Enforce), "claims", cmp.Or(o.Process.Claims, policy.ClaimsCede),
		"pause", cmp.Or(o.Process.Pause, policy.PauseReport), "additions", cmp.Or(string(o.Process.Additions), "by dialect"),
		"leaderElection", election(o, c.Namespace()), "witness", onOrOff(o.Witness != (attribution.Place{})),
		"page", address(m.listening), "metrics", address(cmp.Or(m.measuring, m.listening)), "events", cmp.Or(redact.MaskText(o.EventsAddress), "off"),
		"webhooks", address(m.hooking), "localSources", o.LocalSources == controller.AllowLocal, "cacheDir", o.CacheDir,
	}
}

// election is the Lease that the controllers of a deployment hold in turn.
func election(o Options, own string) string {
	if o.Election == (leader.Election{}) {
		return "off"
	}
	return "Lease " + cmp.Or(o.Election.Namespace, o.Home(own)) + "/" + o.Election.Name
}

func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func address(l net.Listener) string {
	if l == nil {
		return "off"
	}
	return l.Addr().String()
}
