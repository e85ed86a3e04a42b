package argocd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
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
		var cr object.Object
		if decodeYAML(data, &cr) != nil || cr == nil {
			return
		}
		a := Applications{}.App(cr, app.Policy{})
		if pause, again := a.Backoff.Pause(a.Retry, 1000); again && pause < time.Millisecond {
			t.Errorf("a pause that no loop survives: %s", pause)
		}
		if strings.HasPrefix(a.Path, "/") || a.Path == ".." || strings.HasPrefix(a.Path, "../") || a.Path == "" {
			t.Errorf("path %q is none inside of a source", a.Path)
		}
		if a.Prune == "" || a.PruneOnDelete == "" || a.Rollout == "" || a.Policy.Mode == "" || a.Policy.Claims == "" || a.Policy.Remediation == "" {
			t.Errorf("a policy was not chosen: %+v", a)
		}
		s := Repositories{}.Source(cr)
		if s.Key != a.Source || s.Interval < time.Second {
			t.Errorf("the source is %+v of %s, the app reads %s", s, s.Key, a.Source)
		}
		if _, err := (Repositories{}).Spec(cr, nil); (err != nil) != (len(s.Problems) > 0) {
			t.Errorf("problems %v, error %v", s.Problems, err)
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
