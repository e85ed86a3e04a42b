package stories

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// fleetWorld is examples/fleet: its four repositories, in namespaces of the story's own.
type fleetWorld struct {
	*world
	apps, blue *gittest.Repo
}

func newFleetWorld(t *testing.T) fleetWorld {
	t.Helper()
	w := offWorld(t, "")
	w.works = cluster.Namespaces{w.ns, w.ns + "-blue", w.ns + "-green"}
	f := fleetWorld{world: w}
	f.apps = gittest.New(t, f.repository("apps"))
	f.blue = gittest.New(t, f.repository("blue"))
	green := gittest.New(t, f.repository("green"))
	files := f.repository("platform")
	for path, text := range files {
		for name, repo := range map[string]*gittest.Repo{"apps": f.apps, "blue": f.blue, "green": green} {
			text = strings.ReplaceAll(text, "https://git.example.org/fleet/"+name+".git", "file://"+repo.Dir)
		}
		files[path] = text
	}
	w.repo.Commit(files, "the fleet")
	w.start(policy.Policy{})
	return f
}

// repository reads one of the example's directories.
func (f fleetWorld) repository(name string) map[string]string {
	f.t.Helper()
	names := strings.NewReplacer("flux-system", f.ns, "tenant-blue", f.ns+"-blue", "tenant-green", f.ns+"-green", "shop-staging}", f.ns+"-staging}", "shop-production}",
		f.ns+"-production}", "targetNamespace: shop-", "targetNamespace: "+f.ns+"-")
	out, root := map[string]string{}, filepath.Join("..", "examples", "fleet", name)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		out[filepath.ToSlash(below)] = names.Replace(string(text))
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// in is the story's world with another namespace to look at.
func (f fleetWorld) in(stage string) *world {
	w := *f.world
	w.ns += stage
	return &w
}

// TestAFleetOfFourRepositories runs examples/fleet: infrastructure before apps, staging before production, variables, of which one is
// encrypted, an autoscaler, and two tenants.
func TestAFleetOfFourRepositories(t *testing.T) {
	if os.Getenv(accountVariable) != "" {
		t.Skip("the installed roles do not let truce act as a tenant's service account: deploy/rbac/tenants is an addition")
	}
	const secret = "correct-horse-battery"
	f := newFleetWorld(t)
	f.kubectl("create", "secret", "generic", "sops-age", "--from-file="+filepath.Join("..", "examples", "fleet", "example.agekey"))
	f.source("platform", "interval: 1m\nref: {branch: main}\nurl: file://"+f.repo.Dir)
	f.kustomization("main", "platform", "interval: 1h\npath: ./clusters/main\nprune: true")
	for _, name := range []string{"main", "infrastructure"} {
		f.ready(name)
	}
	staging, production, blue := f.in("-staging"), f.in("-production"), f.in("-blue")
	isReady := func(name string) {
		t.Helper()
		f.condition(name, "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	}
	t.Cleanup(f.removeTenants)
	isReady("shop-staging")
	isReady("shop-production")
	if got := image(production.get(deployments, "shop")); got != "registry.example.org/shop:1.4.0" {
		t.Errorf("image of production: %s", got)
	}
	blue.until("a tenant's object", func() bool { return blue.get(configmaps, "settings") != nil })

	// The autoscaler decides the count of production, through a release, which reaches staging first.
	d, s := f.Watch(t, deployments, production.ns, "shop"), f.Watch(t, deployments, staging.ns, "shop")
	production.annotate(deployments, "shop", "sandbox.truce.dev/cpu-total", "395m")
	f.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	since := len(d.Values())
	f.apps.Commit(map[string]string{"shop/base/deployment.yaml": strings.ReplaceAll(f.apps.Git("show", "HEAD:shop/base/deployment.yaml"), "shop:1.4.0", "shop:1.5.0") + "\n"}, "release")
	f.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "registry.example.org/shop:1.5.0" })
	isReady("shop-production")
	if first, then := firstWith(s, "registry.example.org/shop:1.5.0"), firstWith(d, "registry.example.org/shop:1.5.0"); first.IsZero() || !first.Before(then) {
		t.Errorf("staging had the release at %s, production at %s", first, then)
	}
	f.always(d, since, func(o *unstructured.Unstructured) bool { return replicas(o) >= 8 })
	if got := image(staging.get(deployments, "shop")); got != "registry.example.org/shop:1.5.0" {
		t.Errorf("image of staging: %s", got)
	}

	// A tenant reaches for another's namespace: the API server refuses, and the tenant's own app says so.
	f.blue.Commit(map[string]string{"stolen.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen, namespace: " + f.ns + "-green}\n"}, "reach over")
	blue.condition("blue", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "False" && contains(c["message"], "stolen") && contains(c["message"], "cannot patch resource")
	})
	if f.in("-green").isThere(configmaps, "stolen") {
		t.Error("a tenant wrote to another's namespace")
	}
	f.saidNowhere(secret)
}

// firstWith is when an image was first seen.
func firstWith(r *kubetest.Recorder, name string) time.Time {
	for _, v := range r.Values() {
		if image(v.Object) == name {
			return v.At
		}
	}
	return time.Time{}
}

// removeTenants removes the tenants' apps before their rights go with the infrastructure.
func (f fleetWorld) removeTenants() {
	f.patch(kustomizations, "main", map[string]any{"spec": map[string]any{"suspend": true}}, "kubectl-patch")
	f.in("-blue").removeApps()
	f.in("-green").removeApps()
}

// saidNowhere looks for a secret in what truce has written about apps: statuses and Events.
func (f fleetWorld) saidNowhere(secret string) {
	f.t.Helper()
	all, err := dynamic.NewForConfig(f.Config())
	if err != nil {
		f.t.Fatal(err)
	}
	events := schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	for _, kind := range []schema.GroupVersionResource{kustomizations, events} {
		list, err := all.Resource(kind).Namespace(f.ns).List(f.ctx, metav1.ListOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, o := range list.Items {
			if text, _ := o.MarshalJSON(); strings.Contains(string(text), secret) {
				f.t.Errorf("%s %s holds the password", kind.Resource, o.GetName())
			}
		}
	}
}
