package discover_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestAFileOfARemoteBaseIsPlacedAtTheEntryThatLeadsToIt: one repository may be named for several directories, and by a base of ours.
func TestAFileOfARemoteBaseIsPlacedAtTheEntryThatLeadsToIt(t *testing.T) {
	files := given.Files()
	files.Put("apps/web/kustomization.yaml", "resources:\n- ../base\n- https://git.example/o/r//two?ref=v1\n")
	files.Put("apps/base/kustomization.yaml", "resources:\n- own.yaml\n- https://git.example/o/r//one?ref=v1\n- https://git.example/o/r//none?ref=v1\n- https://git.example/o/r?ref=v1\n")
	const top, other = ".remote-bases/https/git.example/o/r@v1/", ".remote-bases/https/git.example/o/other@HEAD/"
	files.Put(top+"one/kustomization.yaml", "resources: [a.yaml]")
	files.Put(top+"two/kustomization.yaml", "resources: [../shared, ../one, 'https://git.example/o/other//x']")
	files.Put(top+"shared/kustomization.yaml", "resources: [../two, b.yaml]")
	files.Put(other+"x/kustomization.yaml", "resources: [x.yaml]")
	u := discover.Unit{App: app.App{Path: "apps/web"}, File: "cluster/web.yaml", Line: 7}
	for file, want := range map[string]string{
		top + "one/a.yaml":        "apps/base/kustomization.yaml:3",
		top + "two/c.yaml":        "apps/web/kustomization.yaml:3",
		top + "shared/b.yaml":     "apps/web/kustomization.yaml:3",
		top + "patches/p.yaml":    "apps/base/kustomization.yaml:5",
		other + "x/x.yaml":        "apps/web/kustomization.yaml:3",
		other + "deep/x/y.yaml":   "apps/web/kustomization.yaml:3",
		"apps/base/own.yaml":      ":0",
		".remote-bases/file/z@v1": "cluster/web.yaml:7",
	} {
		if got := u.Entry(files, file).String(); got != want {
			t.Errorf("%s: at %s, want %s", file, got, want)
		}
	}
}
