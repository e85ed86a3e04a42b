package stories

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
)

// allButLeases lets a user do everything but look at Leases or write them.
func (w *world) allButLeases(user string) {
	w.t.Helper()
	var groups []string
	for _, served := range strings.Fields(w.kubectl("api-versions")) {
		group, _, named := strings.Cut(served, "/")
		if !named {
			group = `""`
		}
		if group != "coordination.k8s.io" {
			groups = append(groups, group)
		}
	}
	w.allow(user, "most", fmt.Sprintf(`{apiGroups: [%s], resources: ["*"], verbs: ["*"]}`, strings.Join(groups, ", ")))
}

// allow gives a user one more right in the whole cluster.
func (w *world) allow(user, name, rule string) {
	w.t.Helper()
	name = w.ns + "-" + name
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [%[2]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[3]s}]
`, name, rule, user))
	for _, kind := range []string{"clusterrolebindings", "clusterroles"} {
		w.later(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: kind}, "", name)
	}
}

// as is a truce of its own process in a user's name.
func (w *world) as(user string, args ...string) *process {
	w.t.Helper()
	dir := w.t.TempDir()
	config, err := clientcmd.LoadFromFile(w.Kubeconfig)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, who := range config.AuthInfos {
		who.Impersonate = user
	}
	for _, to := range config.Contexts {
		to.Namespace = w.ns
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		w.t.Fatal(err)
	}
	p, err := startProcess(filepath.Join(dir, "log"), buildTruce(w.t),
		append([]string{"controller", "--kubeconfig", kubeconfig, "--cache-dir", dir, "--listen", "127.0.0.1:0", "--local-sources"}, args...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := p.signal(syscall.SIGTERM); err != nil {
			w.t.Error(err)
		}
		<-p.ended
	})
	return p
}

// writtenBy lists what a user has written in the story's namespace, but for what a truce says of itself.
func (w *world) writtenBy(user string) []string {
	var out []string
	for _, e := range w.Audit(w.t, func(e kubetest.Entry) bool {
		return e.User == user && e.Namespace == w.ns && e.Writes() && !slices.Contains([]string{"truce-controller", "truce-keeper", "truce-page"}, e.Name)
	}) {
		out = append(out, e.Verb+" "+e.Resource.Resource+" "+e.Name)
	}
	return out
}

func TestATruceThatMayNotSeeWhoKeepsANamespaceTouchesNone(t *testing.T) {
	w := offClusterWorld(t, document3)
	user := "cluster-" + w.ns
	w.allButLeases(user)
	p := w.as(user)
	w.app("my-app", "./apps/my-app", defaultSpec) // after the truce that is to take it away
	const why = "without the right to list and watch leases.coordination.k8s.io in the whole cluster"
	w.until("the log to say which right is missing", func() bool { return strings.Contains(p.said(), why) })
	w.until("the truce to write it down", func() bool { return strings.Contains(w.saidOf("app get my-app"), why) })
	if wrote := w.writtenBy(user); len(wrote) > 0 || w.get(deployments, "my-app") != nil {
		t.Errorf("it has written %v", wrote)
	}
	w.allow(user, "leases", `{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch]}`)
	w.ready("my-app") // without being asked or started anew
	w.until("it to say so no longer", func() bool { return !strings.Contains(w.saidOf("app get my-app"), why) })
}

func TestATruceThatMayNotSayThatItKeepsANamespaceLeavesItAlone(t *testing.T) {
	w := offWorld(t, document3)
	user := "team-" + w.ns
	w.allButLeases(user)
	p := w.as(user, "--namespace", w.ns)
	w.app("my-app", "./apps/my-app", defaultSpec)
	why := []string{w.ns + "/truce-keeper", `cannot patch resource "leases" in API group "coordination.k8s.io"`}
	says := func(text string) bool { return strings.Contains(text, why[0]) && strings.Contains(text, why[1]) }
	w.until("the log to say which right is missing", func() bool { return says(strings.ReplaceAll(p.said(), `\"`, `"`)) })
	w.until("the truce to write it down", func() bool { return says(w.saidOf("app get my-app")) })
	if wrote := w.writtenBy(user); len(wrote) > 0 || w.get(deployments, "my-app") != nil {
		t.Errorf("it has written %v", wrote)
	}
	w.allow(user, "leases", `{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, patch]}`)
	w.ready("my-app")
	w.until("it to say so no longer", func() bool { return !says(w.saidOf("app get my-app")) })
}

// saidOf is what a command of an administrator says.
func (w *world) saidOf(args string) string {
	w.t.Helper()
	_, said := w.truce()(strings.Fields(args)...)
	return said
}
