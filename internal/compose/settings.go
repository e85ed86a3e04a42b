package compose

import (
	"cmp"
	"github.com/truce-gitops/truce/internal/controller/leader"
	"net"
	"strings"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// settings returns what a controller runs with, for the first line of its log: what decides what it does, and where it answers.
func (s *service) settings() []any {
	o, c := s.options, s.parts.cluster
	return []any{
		"version", s.parts.version, "server", c.Config().Host,
		"namespaces", cmp.Or(strings.Join(o.Namespaces, ","), "all"), "home", o.Namespaces.Home(c.Namespace()),
		"mode", cmp.Or(o.Process.Mode, app.Enforce), "claims", cmp.Or(o.Process.Claims, app.ClaimsCede),
		"pause", cmp.Or(o.Process.Pause, app.PauseReport), "additions", cmp.Or(string(o.Process.Additions), "by dialect"),
		"leaderElection", election(o, c.Namespace()), "witness", onOff(o.Witness != (attribution.Place{})),
		"page", address(s.listening), "metrics", address(cmp.Or(s.measuring, s.listening)), "events", cmp.Or(redact.MaskText(o.EventsAddress), "off"),
		"localSources", o.LocalSources, "cacheDir", o.CacheDir,
	}
}

// election is the Lease that the controllers of a deployment hold in turn.
func election(o cli.ControllerOptions, own string) string {
	if o.Election == (leader.Election{}) {
		return "off"
	}
	return "Lease " + cmp.Or(o.Election.Namespace, o.Namespaces.Home(own)) + "/" + o.Election.Name
}

func onOff(on bool) string {
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
