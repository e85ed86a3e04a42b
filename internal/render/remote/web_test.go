package remote_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	testclock "k8s.io/utils/clock/testing"
)

// files is an https server of single files.
type files struct {
	*httptest.Server
	content  atomic.Pointer[string]
	down     atomic.Bool
	requests atomic.Int64 // that were answered with content
	asked    atomic.Int64
	told     atomic.Pointer[http.Header] // of the newest request
}

func serveFiles(t *testing.T) *files {
	t.Helper()
	f := &files{}
	f.set(fmt.Sprintf(configMap, "web", "first"))
	mux := http.NewServeMux()
	mux.HandleFunc("/web.yaml", f.web)
	mux.HandleFunc("/by", f.web)
	mux.HandleFunc("/large.yaml", func(w http.ResponseWriter, _ *http.Request) {
		for range 17 << 10 {
			fmt.Fprintln(w, "#"+strings.Repeat("x", 1023))
		}
	})
	mux.HandleFunc("/moved.yaml", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/web.yaml", http.StatusFound) })
	mux.HandleFunc("/circle.yaml", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/circle.yaml", http.StatusFound) })
	mux.HandleFunc("/inside.yaml", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://127.0.0.2:1/secret?token=hidden", http.StatusFound)
	})
	mux.HandleFunc("/plain.yaml", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(f.URL, "https", "http", 1)+"/web.yaml", http.StatusFound)
	})
	mux.HandleFunc("/login.yaml", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html><body>log in</body></html>") })
	f.Server = httptest.NewTLSServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *files) set(text string) { f.content.Store(&text) }

func (f *files) web(w http.ResponseWriter, r *http.Request) {
	f.asked.Add(1)
	header := r.Header.Clone()
	f.told.Store(&header)
	text := *f.content.Load()
	tag := `"` + digest(text)[:8] + `"`
	switch {
	case f.down.Load():
		http.Error(w, "down", http.StatusBadGateway)
	case r.Header.Get("If-None-Match") == tag:
		w.WriteHeader(http.StatusNotModified)
	default:
		f.requests.Add(1)
		w.Header().Set("ETag", tag)
		fmt.Fprint(w, text)
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// host is the server's, as --remote-hosts lists it.
func (f *files) host() string { return strings.TrimPrefix(f.URL, "https://") }

func (f *files) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(f.Certificate())
	return pool
}

// cluster is a controller's part of this package, with what it builds from.
type cluster struct {
	yard    *yard
	apps    *remote.Apps
	clock   *testclock.FakePassiveClock
	builder render.Renderer
}

func newCluster(y *yard, o remote.Options) *cluster {
	c := &cluster{yard: y, clock: testclock.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	o.Fetch = y.store
	c.apps = remote.NewApps(o, c.clock)
	c.builder = remote.Renderer{Builder: &render.Cached{Renderer: &kustomize.Renderer{Plain: plain.Renderer{}}, Bytes: 1 << 20}}
	return c
}

func (c *cluster) pass(d time.Duration) { c.clock.SetTime(c.clock.Now().Add(d)) }

// run is what a run of an app sees, a minute being its interval.
func (c *cluster) run(dir, request string) string {
	c.yard.t.Helper()
	tree, err := disk.OpenTree(c.yard.dir)
	if err != nil {
		c.yard.t.Fatal(err)
	}
	c.yard.t.Cleanup(func() { _ = tree.Close() })
	a := app.App{Key: app.Key{Kind: "Kustomization", Namespace: "shop", Name: dir}, Interval: time.Minute, Request: request}
	r, err := c.builder.Render(c.yard.t.Context(), render.Request{Files: c.apps.Over(a, tree.Snapshot()), Path: dir})
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, o := range r.Objects {
		out = append(out, fmt.Sprintf("%s by %v", o.Data.Name(), o.Data.At("data", "by")))
	}
	return strings.Join(append(out, c.apps.Notes(a.Key)...), "\n")
}

func TestASingleFileIsFetchedAndBuilt(t *testing.T) {
	f, y := serveFiles(t), newYard(t)
	text := *f.content.Load()
	patch := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {by: %s}\n"
	for name, resource := range map[string]string{
		"app": "/web.yaml", "pinned": "/web.yaml#sha256=" + digest(text), "moved": "/moved.yaml", "wrong": "/web.yaml#sha256=" + digest("x"),
		"large": "/large.yaml", "circle": "/circle.yaml", "inside": "/inside.yaml", "plain": "/plain.yaml", "absent": "/absent.yaml", "login": "/login.yaml",
	} {
		y.write(name+"/kustomization.yaml", "resources:\n- "+f.URL+resource+"\nnameSuffix: -x\n")
	}
	y.write("base/kustomization.yaml", "resources: [web.yaml]\n")
	y.write("base/web.yaml", fmt.Sprintf(patch, "nobody"))
	y.write("patched/kustomization.yaml", "resources: [../base]\npatches:\n- path: "+f.URL+"/web.yaml\n")
	y.write("component/kustomization.yaml", "components: [../part]\n")
	y.write("part/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nresources: ["+f.URL+"/web.yaml]\n")
	generate := func(files string) string {
		return "configMapGenerator: [{name: a, files: [" + files + "]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n"
	}
	y.write("generator/kustomization.yaml", generate("by="+f.URL+"/web.yaml"))
	y.write("pinned-generator/kustomization.yaml", generate("by="+f.URL+"/web.yaml#sha256="+digest(text)))
	y.write("key/kustomization.yaml", generate(f.URL+"/by"))
	y.write("directory/kustomization.yaml", generate("by=github.com/shop/web//files"))
	c := newCluster(y, remote.Options{Hosts: upstream.Hosts{Listed: []string{f.host()}}, Roots: f.roots(), Dir: t.TempDir()})
	loose := "\n" + f.URL + "/web.yaml is not pinned: a change there changes this app; pin it by #sha256= with its digest"
	for dir, want := range map[string]string{
		"app": "web-x by first" + loose, "pinned": "web-x by first", "patched": "web by first" + loose, "component": "web by first" + loose,
		"generator": "a by " + text + loose, "pinned-generator": "a by " + text, "key": "a by " + text + strings.Replace(loose, "/web.yaml", "/by", 1),
		"moved": "web-x by first" + strings.Replace(loose, "/web.yaml", "/moved.yaml", 1),
	} {
		if got := c.run(dir, ""); got != want {
			t.Errorf("%s: %s\nwant %s", dir, got, want)
		}
	}
	for dir, want := range map[string]string{
		"wrong":     "its content has the SHA-256 " + digest(text) + ", and the entry names " + digest("x"),
		"large":     "more than 16 MiB: limit exceeded",
		"circle":    "more than 5 redirects: limit exceeded",
		"inside":    "redirected to 127.0.0.2:1: 127.0.0.2:1 is not among the hosts that may be fetched from (--remote-hosts)",
		"plain":     "redirected to " + f.host() + ": http://" + f.host() + " is not among the hosts",
		"absent":    "absent/kustomization.yaml:2: " + f.URL + "/absent.yaml: get " + f.URL + "/absent.yaml: the server answers 404 Not Found",
		"login":     "not a Kubernetes object",
		"directory": "remote files are refused",
	} {
		if got := c.run(dir, ""); !strings.Contains(got, want) || strings.Contains(got, "hidden") {
			t.Errorf("%s: %s\nwant %s", dir, got, want)
		}
	}
	for name := range *f.told.Load() {
		switch name {
		case "Authorization", "Cookie", "Referer", "Proxy-Authorization":
			t.Errorf("%s was sent", name)
		}
	}
}

// Unless it is listed, no server of this machine or a private network is asked, by its name neither, nor by a redirect.
func TestServersThatAreNotPublicAreNotAsked(t *testing.T) {
	f, y := serveFiles(t), newYard(t)
	repo := gittest.New(t, map[string]string{"kustomization.yaml": "resources: []\n"})
	server := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{TLS: true})
	port := f.host()[strings.LastIndex(f.host(), ":"):]
	for name, resource := range map[string]string{
		"address": f.URL + "/web.yaml", "name": "https://localhost" + port + "/web.yaml", "plain": "http://127.0.0.1" + port + "/web.yaml",
		"git": server.URL + "?ref=main", "gitname": "https://localhost" + server.URL[strings.LastIndex(server.URL, ":"):] + "?ref=main",
	} {
		y.write(name+"/kustomization.yaml", "resources:\n- "+resource+"\n")
	}
	c := newCluster(y, remote.Options{Roots: f.roots(), Dir: t.TempDir()})
	for dir, want := range map[string]string{
		"address": "its address is not public", "name": "its address is not public", "git": "its address is not public", "gitname": "its address is not public",
		"plain": "only https is fetched from",
	} {
		if got := c.run(dir, ""); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", dir, got, want)
		}
	}
	if n := f.asked.Load() + int64(server.Requests()); n > 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestWhatIsNotPinnedIsFetchedAgainAtTheInterval(t *testing.T) {
	f, y := serveFiles(t), newYard(t)
	repo := gittest.New(t, map[string]string{"kustomization.yaml": "resources: [one.yaml]\n", "one.yaml": fmt.Sprintf(configMap, "one", "first")})
	server := gittest.ServeHTTP(t, repo, gittest.HTTPOptions{})
	commit := repo.Commit(map[string]string{"one.yaml": fmt.Sprintf(configMap, "one", "second")}, "second")
	y.write("a/kustomization.yaml", "resources:\n- "+f.URL+"/web.yaml\n")
	y.write("b/kustomization.yaml", "resources:\n- "+f.URL+"/web.yaml\n")
	y.write("branch/kustomization.yaml", "resources:\n- "+server.URL+"?ref=main\n")
	y.write("commit/kustomization.yaml", "resources:\n- "+server.URL+"?ref="+commit+"\n")
	y.write("fixed/kustomization.yaml", "resources:\n- "+f.URL+"/web.yaml#sha256="+digest(*f.content.Load())+"\n")
	dir := t.TempDir()
	o := remote.Options{Hosts: upstream.Hosts{Listed: []string{f.host(), "http://127.0.0.1"}}, Roots: f.roots(), Dir: dir}
	c := newCluster(y, o)
	expect := func(when string, want map[string]string) {
		t.Helper()
		for dir, by := range want {
			if got := c.run(dir, ""); !strings.Contains(got, by) {
				t.Errorf("%s: %s: %s, want %s", when, dir, got, by)
			}
		}
	}
	expect("at first", map[string]string{"a": "web by first", "b": "web by first", "branch": "one by second", "commit": "one by second", "fixed": "web by first"})
	if n := f.requests.Load(); n > 2 { // the pinned one is another address
		t.Errorf("the file was sent %d times", n)
	}
	asked, fetched := f.asked.Load(), server.Requests()
	repo.Commit(map[string]string{"one.yaml": fmt.Sprintf(configMap, "one", "third")}, "third")
	c.pass(20 * time.Second)
	expect("within the interval", map[string]string{"a": "web by first", "branch": "one by second", "commit": "one by second"})
	if f.asked.Load() != asked || server.Requests() != fetched {
		t.Error("servers were asked within the interval")
	}
	c.pass(time.Minute)
	sent := f.requests.Load()
	expect("at the next interval, unchanged", map[string]string{"a": "web by first", "b": "web by first", "branch": "one by third", "commit": "one by second"})
	if f.requests.Load() != sent || f.asked.Load() != asked+1 {
		t.Errorf("an unchanged file was sent %d times, and asked for %d times", f.requests.Load()-sent, f.asked.Load()-asked)
	}
	f.set(fmt.Sprintf(configMap, "web", "second"))
	if got := c.run("a", "now"); !strings.Contains(got, "web by second") {
		t.Errorf("when it is asked for: %s", got)
	}

	f.down.Store(true)
	c.pass(2 * time.Minute)
	expect("while the server fails", map[string]string{"a": "a/kustomization.yaml:2: " + f.URL + "/web.yaml: get " + f.URL + "/web.yaml: the server answers 502", "b": "the server answers 502", "branch": "one by third", "fixed": "web by first"})
	f.down.Store(false)
	c.pass(time.Minute)
	expect("when it answers again", map[string]string{"a": "web by second", "b": "web by second"})

	f.down.Store(true)
	c = newCluster(y, o)
	expect("after a restart", map[string]string{"fixed": "web by first", "a": "the server answers 502"})
	c.apps.Forget(app.Key{Kind: "Kustomization", Namespace: "shop", Name: "fixed"})
	if _, err := c.apps.Tidy(0); err != nil {
		t.Error(err)
	}
	expect("without its copy", map[string]string{"fixed": "the server answers 502"})
}
