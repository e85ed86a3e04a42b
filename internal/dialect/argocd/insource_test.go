package argocd

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func TestFilesOfTheSourceAreLaidOverIt(t *testing.T) {
	golden.Run(t, "testdata/insource/*.txtar", func(t *testing.T, in golden.Files) string {
		files := fstest.MapFS{}
		for name, text := range in {
			if dir, below, ok := strings.Cut(name, "/"); ok && dir == "repository" {
				files[below] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		a := Applications{}.App(given.Object(t, in.Need(t, "cr.yaml")), policy.Policy{})
		a = a.AtRevision(strings.Repeat("0123456789", 4), files)
		out := appText(a)
		if a.Misread != nil {
			out += "misread: " + a.Misread.Error() + "\n"
		}
		return out
	})
}

// broken is a file that cannot be opened.
type broken struct{}

func (broken) Open(string) (fs.File, error) { return nil, errors.New("no such device") }

func TestAFileOfTheSourceThatCannotBeReadIsAFault(t *testing.T) {
	a := app.App{Key: app.Key{Name: "web"}, Path: "dir"}
	if got := (inSource{}).Over(a, broken{}).Misread; got == nil || !strings.Contains(got.Error(), "dir/.argocd-source.yaml: no such device") {
		t.Errorf("a file that is not readable: %v", got)
	}
	large := fstest.MapFS{"dir/.argocd-source.yaml": &fstest.MapFile{Data: make([]byte, longestOverride+1)}}
	if got := (inSource{}).Over(a, large).Misread; got == nil || !strings.Contains(got.Error(), "more than") {
		t.Errorf("a file that is too large: %v", got)
	}
	directory := fstest.MapFS{"dir/.argocd-source.yaml/x": &fstest.MapFile{}}
	if got := (inSource{}).Over(a, directory).Misread; got != nil {
		t.Errorf("a directory: %v", got)
	}
}
