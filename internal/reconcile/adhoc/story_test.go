package adhoc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// TestStories compares files. A story has
//
//	desired.yaml  what Git wants
//	live.yaml     what was read from the cluster
//	expected.yaml the answers of a dry run, in the order of desired.yaml; without it the comparison is offline
//	namespace     of the command; claims: cede, report, off
func TestStories(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, f golden.Files) string {
		git, live := manifests(t, "desired.yaml", f.Need(t, "desired.yaml")), manifests(t, "live.yaml", f["live.yaml"])
		known, err := adhoc.UniqueObjects(live)
		if err != nil {
			return err.Error()
		}
		subjects, err := adhoc.MatchObjects(git, known, strings.TrimSpace(f["namespace"]))
		if err != nil {
			return err.Error()
		}
		for i, e := range manifests(t, "expected.yaml", f["expected.yaml"]) {
			subjects[i].Expected = e.Data
		}
		var all []object.Object
		for _, s := range subjects {
			all = append(all, s.Desired.Data)
		}
		for _, o := range live {
			all = append(all, o.Data)
		}
		j := adhoc.Comparer{
			Claims: adhoc.NewClaimFinder(all), Cession: policy.Claims(strings.TrimSpace(f["claims"])), Health: kstatus.Assessor{}, Hasher: ownership.NewHasher(), Kinds: schema.Builtin(),
		}
		return account(t, j, subjects)
	})
}

func account(t *testing.T, j adhoc.Comparer, subjects []adhoc.Subject) string {
	t.Helper()
	var b strings.Builder
	for _, s := range subjects {
		r := j.Object(s)
		fmt.Fprintf(&b, "%s  %s:%d  %s\n", r.ID, r.File, r.Line, r.Health.Code)
		if r.Problem != "" {
			fmt.Fprintf(&b, "  problem: %s\n", r.Problem)
		}
		for _, d := range r.Findings {
			if len(d.Path) == 0 {
				fmt.Fprintf(&b, "  %s: %s\n", d.Verdict, d.Reason)
				continue
			}
			fmt.Fprintf(&b, "  %s %s: %s (Git) vs %s (live, by %s)\n    %s: %s\n",
				d.Kind, field.PathString(d.Path), stringAt(t, d.Desired), stringAt(t, d.Live), d.Writer, d.Verdict, d.Reason)
		}
	}
	return b.String()
}

func stringAt(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func manifests(t testing.TB, name, text string) []render.Object {
	t.Helper()
	out, err := render.Manifests(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
