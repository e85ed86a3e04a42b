package flux

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// seeds gives the fuzzer the custom resources of all stories.
func seeds(f *testing.F, pattern string) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds match %s (%v)", pattern, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if file.Name == "cr.yaml" {
				f.Add(file.Data)
			}
		}
	}
}

func FuzzKustomizationNeverPanics(f *testing.F) {
	seeds(f, "testdata/app/*.txtar")
	seeds(f, "testdata/status/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil {
			return
		}
		a := Kustomizations{}.App(cr, policy.Policy{})
		if a.Interval < time.Second || a.Retry < time.Second || a.Timeout < time.Second || a.Policy.Spacing < 0 {
			t.Errorf("a time that no loop survives: %v %v %v %v", a.Interval, a.Retry, a.Timeout, a.Policy.Spacing)
		}
		if strings.HasPrefix(a.Path, "/") || a.Path == ".." || strings.HasPrefix(a.Path, "../") || a.Path == "" {
			t.Errorf("path %q is none inside of a source", a.Path)
		}
		if (a.Prune != policy.PruneDelete && a.Prune != policy.PruneKeep) || a.Policy.Mode == "" || a.Policy.Claims == "" {
			t.Errorf("a policy was not chosen: %+v", a)
		}
		stable(t, Kustomizations{}.Status(cr, report.Report{Reason: report.Succeeded, Stage: report.Done, Generation: 1, At: time.Unix(1, 0)}))
		stable(t, Kustomizations{}.Status(cr, report.Report{Reason: report.SpecRefused, Stage: report.Admit, At: time.Unix(1, 0)}))
	})
}

func FuzzGitRepositoryNeverPanics(f *testing.F) {
	seeds(f, "testdata/source/*.txtar")
	seeds(f, "testdata/sourcestatus/*.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil {
			return
		}
		s := GitRepositories{}.Source(cr)
		if s.Interval < time.Second || s.Timeout <= 0 {
			t.Errorf("a time that no loop survives: %v %v", s.Interval, s.Timeout)
		}
		const canary = "canary-7c1e"
		secret := map[string][]byte{}
		for _, key := range []string{"username", "password", "bearerToken", "identity", "tls.crt"} {
			secret[key] = []byte(canary)
		}
		spec, err := GitRepositories{}.Spec(cr, source.Secrets{Main: secret})
		if text := fmt.Sprintf("%v %+v", err, spec); strings.Contains(text, canary) {
			t.Errorf("a credential is in %s", text)
		}
		if err == nil && len(s.Problems) > 0 {
			t.Errorf("a refused source has a spec: %v", s.Problems)
		}
		stable(t, GitRepositories{}.Status(cr, dialect.SourceState{Artifact: source.Artifact{Revision: "a", Digest: "sha256:0"}, At: time.Unix(1, 0)}))
	})
}

// stable checks that the API server can take a status: plain JSON.
func stable(t *testing.T, status map[string]any) {
	t.Helper()
	if _, ok := object.CloneValue(status).(map[string]any); !ok || len(status) == 0 {
		t.Errorf("no status: %v", status)
	}
}
