package report_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report"
)

func fought(live any, times string) report.Report {
	r := report.Report{}
	for _, name := range []string{"a", "b"} {
		r.Objects = append(r.Objects, report.Object{
			ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name},
			Findings: []report.Finding{{
				Path: field.NewPath("spec", "replicas"), Kind: compare.Changed, Desired: int64(3), Live: live,
				Writer:  ownership.Writer{Name: "keeper", Evidence: ownership.Recorded},
				Verdict: decide.Contested,
				Reason:  "put back " + times + " since 2026-11-21T10:00:00Z and changed again by keeper; the next try is at 2026-11-21T10:20:00Z",
			}},
		})
	}
	return r
}

func TestEvidenceHoldsAllThatIsKnown(t *testing.T) {
	got := fought(int64(8), "2 times").Contested(1).Text
	const want = "Deployment.apps shop/a .spec.replicas: 3 (Git) vs 8 (live, set by keeper): put back 2 times since 2026-11-21T10:00:00Z" +
		" and changed again by keeper; the next try is at 2026-11-21T10:20:00Z; and 1 more"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (report.Report{}).Contested(3); got.Text != "" || got.TextUnlessSame("before") != "" {
		t.Errorf("nothing is contested: %+v", got)
	}
}

func TestEvidenceStaysAsItWasWhileOnlyTheLiveValueMoves(t *testing.T) {
	for _, live := range []any{int64(8), "a (live, set by b) [c", nil, map[string]any{"x": "y; z"}, "x" + strings.Repeat("ü", 200)} {
		before := fought(live, "2 times").Contested(3).Text
		if got := fought(int64(9), "2 times").Contested(3).TextUnlessSame(before); got != before {
			t.Errorf("%v: told anew: %s", live, got)
		}
		if got := fought(int64(9), "3 times").Contested(3).TextUnlessSame(before); !strings.Contains(got, "3 times") || strings.Contains(got, "2 times") {
			t.Errorf("%v: another correction is not told: %s", live, got)
		}
	}
}
