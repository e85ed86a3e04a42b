package remote_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/helm"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chart"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/source/oci"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// charts fetch from the servers that hosts allow.
type charts struct {
	*chart.Store
	registry *oci.Store
}

func (c charts) Fetch(ctx context.Context, s source.Spec) (source.Artifact, error) {
	if s.Kind == source.OCI {
		return c.registry.Fetch(ctx, s)
	}
	return c.Store.Fetch(ctx, s)
}

// inflated are builds of the yard with the charts that its kustomizations name.
func (y *yard) inflated(h upstream.Hosts) (*remote.Apps, *render.Cached, *disk.Tree) {
	y.t.Helper()
	tree, err := disk.OpenTree(y.dir)
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() { _ = tree.Close() })
	packs, err := pack.OpenStore(y.t.TempDir())
	if err != nil {
		y.t.Fatal(err)
	}
	servers := remote.ServersOf(h)
	apps := remote.NewApps(remote.Options{
		Fetch: y.store, Hosts: h, Dir: y.t.TempDir(),
		Charts: charts{&chart.Store{Packs: packs, Servers: servers}, &oci.Store{Packs: packs, Servers: servers}},
	}, clock.RealClock{})
	return apps, &render.Cached{Renderer: &kustomize.Renderer{Plain: plain.Renderer{}, Charts: helm.Renderer{}}, Bytes: 1 << 20}, tree
}

// builtBy renders a directory of the yard as an app does, and returns names with what they hold, or the error, and the notes.
func (y *yard) builtBy(h upstream.Hosts, dir string) (objects, notes string) {
	y.t.Helper()
	apps, builder, tree := y.inflated(h)
	a := app.App{Key: app.Key{Name: dir}, Interval: time.Hour}
	got, err := remote.Renderer{Builder: builder}.Render(y.t.Context(), render.Request{Files: apps.Over(a, tree.Snapshot()), Path: dir, Inflate: &release.Request{}})
	if err != nil {
		return err.Error(), ""
	}
	if !got.Inflated {
		y.t.Errorf("%s: the result does not say that a chart was rendered", dir)
	}
	var out []string
	for _, o := range got.Objects {
		out = append(out, o.Data.Name()+" by "+o.Data.At("data", "by").(string)+" at "+o.File)
	}
	return strings.Join(out, "\n"), strings.Join(apps.Notes(a.Key), "\n")
}

const template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {by: {{ .Values.by }} {{ .Chart.Version }}}\n"

// TestChartsOfRepositoriesAreFetched, by a version, by a range and the newest, of an index and of a registry, and each stays in its place.
func TestChartsOfRepositoriesAreFetched(t *testing.T) {
	r, registry := charttest.New(t), ocitest.New(t)
	files := map[string]string{"templates/t.yaml": template, "values.yaml": "by: chart\n"}
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0-rc.1"} {
		r.Push("web", version, files)
	}
	registry.PushLayers("charts/web", "3.0.0", nil, ocitest.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: charttest.Package("web", "3.0.0", files)})
	y := newYard(t)
	for dir, entry := range map[string]string{
		"exact":  "version: 1.0.0, repo: " + r.URL(),
		"range":  "version: 1.x, repo: " + r.URL() + "/",
		"newest": "repo: " + r.URL(),
		"devel":  "devel: true, repo: " + r.URL(),
		"oci":    `version: 3.0.0, repo: "oci://` + registry.Host + `/charts"`,
		"values": "version: 1.0.0, valuesInline: {by: inline}, repo: " + r.URL(),
	} {
		y.write(dir+"/kustomization.yaml", "helmCharts:\n- {name: web, releaseName: shop, "+entry+"}\n")
	}
	y.write("local/kustomization.yaml", "helmCharts:\n- {name: web, releaseName: shop, version: 9.9.9, repo: "+r.URL()+"}\n")
	y.write("local/charts/web-9.9.9/web/Chart.yaml", "{apiVersion: v2, name: web, version: 0.1.0}")
	y.write("local/charts/web-9.9.9/web/templates/t.yaml", template)
	y.write("local/charts/web-9.9.9/web/values.yaml", "by: source\n")
	y.write("over/kustomization.yaml", "resources: [../exact]\nnamePrefix: a-\n")
	host := strings.TrimPrefix(r.Server.URL, "http://")
	hosts := upstream.Hosts{Listed: []string{"http://" + host, "http://" + registry.Host}}
	at := ".remote-bases/http-chart/" + host + "/charts/web@"
	loose := "chart web%s of " + r.URL() + " is not pinned: a change there changes this app; pin it by one version"
	for dir, want := range map[string][2]string{
		"exact":  {"shop by chart 1.0.0 at " + at + "1.0.0/templates/t.yaml"},
		"over":   {"a-shop by chart 1.0.0 at " + at + "1.0.0/templates/t.yaml"},
		"range":  {"shop by chart 1.1.0 at " + at + "1.x/templates/t.yaml", strings.Replace(loose, "%s", " 1.x", 1)},
		"newest": {"shop by chart 1.1.0 at " + at + "HEAD/templates/t.yaml", strings.Replace(loose, "%s", "", 1)},
		"devel":  {"shop by chart 2.0.0-rc.1 at " + at + ">0.0.0-0/templates/t.yaml", strings.Replace(loose, "%s", " >0.0.0-0", 1)},
		"oci":    {"shop by chart 3.0.0 at .remote-bases/oci-chart/" + registry.Host + "/charts/web@3.0.0/templates/t.yaml"},
		"values": {"shop by inline 1.0.0 at " + at + "1.0.0/templates/t.yaml"},
		"local":  {"shop by source 0.1.0 at local/charts/web-9.9.9/web/templates/t.yaml"},
	} {
		if objects, notes := y.builtBy(hosts, dir); objects != want[0] || notes != want[1] {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", dir, objects, notes, want[0], want[1])
		}
	}
	if r.Presented() {
		t.Error("credentials were sent")
	}
}

// TestChartsThatAreNotFetched are the error of the build that names them, and no server is asked that must not be.
func TestChartsThatAreNotFetched(t *testing.T) {
	r, other := charttest.New(t), charttest.New(t)
	files := map[string]string{"templates/t.yaml": template, "values.yaml": "by: chart\n"}
	r.Push("web", "1.0.0", files)
	r.PushAt("far", "1.0.0", other.Server.URL+"/charts/far-1.0.0.tgz", charttest.Package("far", "1.0.0", files))
	r.PushAt("alias", "1.0.0", "web-1.0.0.tgz", charttest.Package("web", "1.0.0", files))
	host := strings.TrimPrefix(r.Server.URL, "http://")
	listed, open := upstream.Hosts{Listed: []string{"http://" + host}}, upstream.Hosts{}
	secret := "password-of-a-test"
	for want, c := range map[string]struct {
		hosts upstream.Hosts
		entry string
	}{
		"only https is fetched from":          {open, "name: web, version: 1.0.0, repo: " + r.URL()},
		"list it with --remote-hosts":         {open, "name: web, version: 1.0.0, repo: https://" + host},
		"oci.example is not among the hosts":  {listed, `name: web, version: 1.0.0, repo: "oci://oci.example/charts"`},
		other.Server.Listener.Addr().String(): {listed, "name: far, version: 1.0.0, repo: " + r.URL()},
		"no version of it matches":            {listed, "name: web, version: 7.x, repo: " + r.URL()},
		"has no chart of that name":           {listed, "name: none, version: 1.0.0, repo: " + r.URL()},
		`the chart there is called "web"`:     {listed, "name: alias, version: 1.0.0, repo: " + r.URL()},
		"it holds a user":                     {listed, "name: web, version: 1.0.0, repo: http://ada:" + secret + "@" + host},
		"want https:// or oci://":             {listed, "name: web, version: 1.0.0, repo: file:///etc"},
		"this is no name of a chart":          {listed, "name: ../web, version: 1.0.0, chartHome: a, repo: " + r.URL()},
	} {
		y := newYard(t)
		entry, home, _ := strings.Cut(c.entry, ", chartHome: a")
		y.write("app/kustomization.yaml", "helmCharts:\n- {"+entry+home+"}\n")
		got, _ := y.builtBy(c.hosts, "app")
		if !strings.Contains(got, want) || !strings.HasPrefix(got, "render app: app/kustomization.yaml:2: helmCharts: ") || strings.Contains(got, secret) {
			t.Errorf("%s: %s\nwant %s", c.entry, got, want)
		}
	}
	if len(other.Requests()) > 0 {
		t.Errorf("a server that is not listed was asked: %v", other.Requests())
	}
}

// TestAChartIsFetchedOnceAsLongAsItIsPinned, and a range again when the app is due.
func TestAChartIsFetchedOnceAsLongAsItIsPinned(t *testing.T) {
	r := charttest.New(t)
	files := map[string]string{"templates/t.yaml": template, "values.yaml": "by: chart\n"}
	r.Push("web", "1.0.0", files)
	y := newYard(t)
	y.write("exact/kustomization.yaml", "helmCharts:\n- {name: web, releaseName: shop, version: 1.0.0, repo: "+r.URL()+"}\n")
	y.write("range/kustomization.yaml", "helmCharts:\n- {name: web, releaseName: shop, version: 1.x, repo: "+r.URL()+"}\n")
	apps, builder, tree := y.inflated(upstream.Hosts{Listed: []string{"http://" + strings.TrimPrefix(r.Server.URL, "http://")}})
	run := func(dir, request string) string {
		t.Helper()
		a := app.App{Key: app.Key{Name: dir}, Interval: time.Hour, Request: request}
		got, err := remote.Renderer{Builder: builder}.Render(t.Context(), render.Request{Files: apps.Over(a, tree.Snapshot()), Path: dir, Inflate: &release.Request{}})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Inflated { // also of a cached result
			t.Errorf("%s: the result does not say that a chart was rendered", dir)
		}
		return got.Objects[0].Data.At("data", "by").(string)
	}
	run("exact", "")
	run("range", "")
	r.Push("web", "1.1.0", files)
	r.Requests() // those before
	run("exact", "")
	if asked := r.Requests(); len(asked) > 0 {
		t.Errorf("one version was asked for again: %v", asked)
	}
	if got := run("range", ""); got != "chart 1.0.0" {
		t.Errorf("before it is due: %s", got)
	}
	if got := run("range", "now"); got != "chart 1.1.0" {
		t.Errorf("as requested: %s", got)
	}
	kept, err := apps.Tidy(time.Hour)
	if err != nil || len(kept) != 2 {
		t.Errorf("%d charts are kept, %v, want both", len(kept), err)
	}
	for _, a := range kept {
		if dir, err := chartfile.DirectoryOf(a.Files); dir != "web" {
			t.Errorf("%s, %v", dir, err)
		}
	}
}
