package argocd

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// seeds gives the fuzzer the custom resources of all stories.
func seeds(f *testing.F) {
	for _, pattern := range []string{"testdata/app/*.txtar", "testdata/status/*.txtar"} {
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
}

func FuzzApplicationNeverPanics(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		cr, err := given.ParseObject(string(data))
		if err != nil || cr == nil {
			return
		}
		a := Applications{}.App(cr, policy.Policy{})
		if pause, again := a.Backoff.Pause(a.Retry, 1000); again && pause < time.Millisecond {
			t.Errorf("a pause that no loop survives: %s", pause)
		}
		if strings.HasPrefix(a.Path, "/") || a.Path == ".." || strings.HasPrefix(a.Path, "../") || a.Path == "" {
			t.Errorf("path %q is none inside of a source", a.Path)
		}
		each := []app.App{a}
		if len(a.Parts) > 0 {
			each = nil
		}
		for _, p := range a.Parts {
			if p.Path != p.Dir && !strings.HasPrefix(path.Clean(p.Path), p.Dir+"/") {
				t.Errorf("path %q is none inside of %s", p.Path, p.Dir)
			}
			each = append(each, a.OfPart(p))
		}
		for _, one := range each {
			fuzzedSource(t, cr, one)
		}
		if a.Prune == "" || a.PruneOnDelete == "" || a.Rollout == "" || a.Policy.Mode == "" || a.Policy.Claims == "" || a.Policy.Remediation == "" {
			t.Errorf("a policy was not chosen: %+v", a)
		}
		at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		for _, r := range []report.Report{
			{Reason: report.Succeeded, Stage: report.Done, At: at, Rollout: report.Rollout{Begun: at, Ended: at, Order: a.SyncRequest, Reason: report.Succeeded}},
			{Reason: report.SpecRefused, Stage: report.Admit, At: at},
			{Running: true, At: at},
		} {
			stable(t, cr.Clone(), r)
		}
	})
}

// stable checks that the same report gives the same status again.
func stable(t *testing.T, cr object.Object, r report.Report) {
	t.Helper()
	Applications{}.AnsweredRequests(cr, r)
	first := Applications{}.Status(cr, r)
	cr["status"] = object.CloneValue(first)
	if diff := cmp.Diff(first, Applications{}.Status(cr, r)); diff != "" {
		t.Errorf("the second status is another (-first +second):\n%s", diff)
	}
}

// fuzzedSource checks what is read of one source.
func fuzzedSource(t *testing.T, cr object.Object, a app.App) {
	t.Helper()
	if a.Chart != nil {
		for _, v := range a.Chart.Values {
			if v.File != "" && !fs.ValidPath(v.File) && len(a.Problems) == 0 {
				t.Errorf("the file %q of values is none inside of a source", v.File)
			}
		}
	}
	front := Repositories{}.ForKey(a.Source)
	s := front.Source(cr)
	if s.Key.Name != a.Source.Name || s.Key.Namespace != a.Source.Namespace || s.Interval < time.Second {
		t.Errorf("the source is %+v of %s, the app reads %s", s, s.Key, a.Source)
	}
	if _, err := front.Spec(cr, source.Secrets{}); (err != nil) != (len(s.Problems) > 0) {
		t.Errorf("problems %v, error %v", s.Problems, err)
	}
}
