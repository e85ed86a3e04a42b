package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/source/egress"
)

// publishes writes down how the story's truce runs, as its process does.
func (w *world) publishes(s instance.Settings) {
	w.t.Helper()
	s.Namespaces = w.works
	if err := instance.Publish(w.ctx, w.asTruce(nil), s); err != nil {
		w.t.Fatal(err)
	}
}

// TestCommandsRefuseWhatTheControllerRefusesATenant compares what a user is shown with the status that the controller writes.
func TestCommandsRefuseWhatTheControllerRefusesATenant(t *testing.T) {
	w, a, b := tenants(t, map[string]string{
		"app/cm.yaml":  "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {k: git}}\n",
		"role/cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: NS-A}, data: {k: git}}\n",
	})
	a.source("repo", "interval: 1h\nref: {branch: main}\nurl: file://"+a.repo.Dir)
	b.Apply(t, strings.Replace(b.manifest("app", "./app", defaultSpec), "name: repo}\n  ", "name: repo, namespace: "+a.ns+"}\n  ", 1))
	b.kustomization("role", "repo", "path: ./role\nprune: true\ninterval: 1h")
	b.application("elsewhere", "app", automated)
	b.Apply(t, strings.ReplaceAll(b.applicationText("elsewhere", "app", automated), "namespace: "+b.ns+"}\n  sync", "namespace: "+a.ns+"}\n  sync"))
	t.Cleanup(b.removeApps)
	refused := "can't access 'GitRepository/" + a.ns + "/repo', cross-namespace references have been blocked"
	account := `User "` + b.user("default") + `" cannot patch resource "configmaps"`
	b.fails("app", refused)
	b.fails("role", account)

	run := b.truce()
	b.saysOf(run, 1, "app diff app", "no controller says how it runs", "app/cm.yaml")
	w.publishes(instance.Settings{Tenancy: multiTenant(w.ns)})
	for _, command := range []string{"app diff app", "app diff app --path .", "build kustomization app"} {
		b.refusedBy(run, 2, command, refused)
	}
	b.refusedBy(run, 2, "app diff application/elsewhere", "can't deploy to namespace "+a.ns)
	b.refusedBy(run, 1, "app diff role", account)
	b.source("near", "interval: 1h\nurl: http://127.0.0.1:1/near.git")
	b.kustomization("near", "near", "path: .\nprune: true\ninterval: 1h")
	near := "127.0.0.1:1 is at a loopback, link-local or metadata address: list it with --allow-source-hosts"
	b.refusedBy(run, 4, "app diff near", near)
	w.publishes(instance.Settings{Tenancy: multiTenant(w.ns), Sources: egress.Policy{Allowed: []string{"127.0.0.0/8"}}})
	b.refusedBy(run, 4, "app diff near", "git fetch: Failed to connect")
	mark := desired.PartOfValue(app.Key{Kind: "Kustomization", Namespace: b.ns, Name: "app"})
	b.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, namespace: "+b.ns+", labels: {"+object.PartOf+": "+mark+"}}}")
	b.saysOf(run, 2, "why configmap/cm", refused, a.ns+"/repo, path app")
	b.saysOf(run, 0, "app list", "can't access 'GitRepository/"+a.ns)
}

// refusedBy runs the program, which shows a refusal and no difference.
func (w *world) refusedBy(run func(...string) (int, string), want int, command, refusal string) {
	w.t.Helper()
	code, said := run(strings.Fields(command)...)
	if code != want || !strings.Contains(said, refusal) || strings.Contains(said, "k: git") {
		w.t.Errorf("truce %s: exit code %d, want %d, the refusal %q and no difference:\n%s", command, code, want, refusal, said)
	}
}
