package cli

import (
	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// serverFlags say which servers a command on files may fetch from. They are called as the controller's, and mean the same.
type serverFlags struct {
	allowed   []string
	noPrivate bool
}

func (f *serverFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.noPrivate, "no-private-sources", false, "fetch from public addresses only, as a controller with this flag; without it and --allow-source-hosts from every server that this machine reaches")
	flags.StringSliceVar(&f.allowed, "allow-source-hosts", nil, "fetch as a controller with this flag: from no loopback, link-local or metadata address but from these: HOST, HOST:PORT, *.DOMAIN, an IP address, or a network such as 127.0.0.0/8; may be given more than once, or with commas")
}

// policy is what the flags say. Without them a person at a terminal may reach every server.
func (f *serverFlags) policy() (egress.Policy, error) {
	if _, err := egress.ParseAllowed(f.allowed); err != nil {
		return egress.Policy{}, usageError("--allow-source-hosts: %v", err)
	}
	switch {
	case f.noPrivate:
		return egress.Policy{Reach: egress.ReachPublic, Allowed: f.allowed}, nil
	case len(f.allowed) > 0:
		return egress.Policy{Allowed: f.allowed}, nil
	}
	return local.AnyServer, nil
}
