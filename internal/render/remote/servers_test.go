package remote_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/testing/charttest"
)

// servers are the hosts of a command with a policy.
func servers(p egress.Policy) upstream.Hosts {
	return upstream.Hosts{Reach: upstream.ReachServers, Servers: p}
}

// TestTheServersOfACommandAreItsPolicys: charts and files come from the addresses that it allows alone, also where another server redirects.
func TestTheServersOfACommandAreItsPolicys(t *testing.T) {
	const refused = "is at a loopback, link-local or metadata address: list it with --allow-source-hosts"
	r, f, y := charttest.New(t), serveFiles(t), newYard(t)
	r.Push("web", "1.0.0", map[string]string{"templates/t.yaml": template, "values.yaml": "by: chart\n"})
	y.write("chart/kustomization.yaml", "helmCharts:\n- {name: web, releaseName: shop, version: 1.0.0, repo: "+r.URL()+"}\n")
	y.write("file/kustomization.yaml", "resources:\n- "+f.URL+"/web.yaml#sha256="+digest(*f.content.Load())+"\n")
	y.write("inside/kustomization.yaml", "resources:\n- "+f.URL+"/inside.yaml\n")
	for name, c := range map[string]struct {
		policy              egress.Policy
		chart, file, inside string
	}{
		"the network": {egress.Policy{}, refused, refused, refused},
		"the public":  {egress.Policy{Reach: egress.ReachPublic}, refused, refused, refused},
		"an address":  {egress.Policy{Reach: egress.ReachPublic, Allowed: []string{"127.0.0.1"}}, "shop by chart 1.0.0", "web by first", "127.0.0.2:1 " + refused},
		"a host":      {egress.Policy{Allowed: []string{f.host(), strings.TrimPrefix(r.Server.URL, "http://")}}, "shop by chart 1.0.0", "web by first", "127.0.0.2:1 " + refused},
	} {
		t.Run(name, func(t *testing.T) {
			hosts := servers(c.policy)
			r.Requests() // those before
			asked := f.asked.Load()
			if got, _ := y.builtBy(hosts, "chart"); !strings.Contains(got, c.chart) {
				t.Errorf("a chart: %s\nwant %s", got, c.chart)
			}
			files := newCluster(y, remote.Options{Hosts: hosts, Roots: f.roots(), Dir: t.TempDir()})
			for dir, want := range map[string]string{"file": c.file, "inside": c.inside} {
				if got := files.run(dir, ""); !strings.Contains(got, want) || strings.Contains(got, "hidden") {
					t.Errorf("%s: %s\nwant %s", dir, got, want)
				}
			}
			if n := f.asked.Load() - asked + int64(len(r.Requests())); n > 0 && c.chart == refused {
				t.Errorf("%d requests were made", n)
			}
		})
	}
}
