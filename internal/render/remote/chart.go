package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/source/egress"
	sourcetree "github.com/truce-gitops/truce/internal/source/tree"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// Charts fetch charts of repositories with an index, and of registries. Retain forgets repositories that were not asked for so long. Their methods may
// be called concurrently.
type Charts interface {
	source.Fetcher
	Retain(idle time.Duration)
}

// ServersOf are the servers that charts may be fetched from, where an index or a redirect leads elsewhere, too.
func ServersOf(h upstream.Hosts) egress.Policy {
	switch {
	case h.Reach == upstream.ReachAny:
		return egress.Policy{Reach: egress.ReachAny}
	case h.Reach == upstream.ReachServers:
		return h.Servers
	case len(h.Listed) == 0:
		return egress.Policy{Reach: egress.ReachPublic}
	}
	out := egress.Policy{Reach: egress.ReachListed}
	for _, text := range h.Listed {
		out.Allowed = append(out.Allowed, strings.TrimPrefix(strings.TrimPrefix(text, "http://"), "https://"))
	}
	return out
}

// chart fetches a chart of a repository, without credentials.
func (f fetcher) chart(ctx context.Context, a upstream.Address) (brought, error) {
	scheme, _, _ := strings.Cut(a.URL, "://")
	spec := source.Spec{Kind: source.HelmRepository, URL: a.URL, Timeout: source.DefaultTimeout, Limits: f.options.Limits}
	if scheme == "oci" {
		spec.Kind, scheme = source.OCI, "https"
		plain, err := f.options.Hosts.Check("http", a.Host())
		spec.Insecure = err == nil && plain && f.options.Hosts.Reach != upstream.ReachAny // it is listed as http://HOST
	}
	if _, err := f.options.Hosts.Check(scheme, a.Host()); err != nil {
		return brought{}, err
	}
	artifact, err := f.options.Charts.Fetch(ctx, chartfile.ChartSpec(spec, a.Chart, a.Ref))
	if err != nil {
		return brought{}, explainedChart(err, f.options.Hosts)
	}
	dir, err := chartfile.DirectoryOf(artifact.Files)
	if err == nil {
		err = chartfile.Dependency{Name: a.Chart}.CheckAt(artifact.Files, dir)
	}
	if err != nil {
		return brought{}, fmt.Errorf("%s: %s", a, err.Error()) // what is absent there is no absent file here
	}
	return brought{files: sourcetree.Subtree(artifact.Files, dir), artifact: artifact}, nil
}

// explainedChart is explained in the words of what may be fetched.
func explainedChart(err error, hosts upstream.Hosts) error {
	var e *source.Error
	if errors.As(err, &e) && e.Reason == source.HostNotAllowed && hosts.Reach != upstream.ReachServers {
		return errors.New(strings.ReplaceAll(err.Error(), "--allow-source-hosts if it is a source", "--remote-hosts if kustomizations may name it"))
	}
	return explained(err)
}
