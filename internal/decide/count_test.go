package decide

import (
	"math"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// TestWhatBecomesOfACount: a count of Git's that a claimant decides is not applied, and the remedy says how Git gets it and what happens at the
// end of the claim. Of anything else there is nothing to say.
func TestWhatBecomesOfACount(t *testing.T) {
	hpa := claim.Claim{By: object.ID{Group: "autoscaling", Kind: "HorizontalPodAutoscaler", Namespace: "shop", Name: "web"}, Min: 2, Max: 10}
	idle, open, scaled, nobody, no := hpa, hpa, hpa, hpa, hpa
	idle.Idle = "no metrics since noon"
	open.Max = math.MaxInt32
	scaled.By = object.ID{Group: "keda.sh", Kind: "ScaledObject", Namespace: "shop", Name: "web"}
	nobody.By, nobody.Who = object.ID{}, "a program"
	no.Max = 0
	changed := func(git, live any) compare.Difference {
		return compare.Difference{Kind: compare.Changed, Desired: redact.HideValue(git), Live: redact.HideValue(live)}
	}
	missing, added := changed(int64(6), int64(3)), changed(int64(6), int64(3))
	missing.Kind, added.Kind = compare.Missing, compare.Added
	const drops = "; without HPA shop/web the count drops to 3 at once: remove the count from Git first"
	for name, c := range map[string]struct {
		d               compare.Difference
		c               claim.Claim
		applied, remedy string
	}{
		"more than live": {changed(int64(6), int64(3)), hpa, "6 from Git not applied, it scales between 2 and 10", "to run 6, set minReplicas of HPA shop/web to 6 in Git"},
		"less than live": {changed(int64(3), int64(6)), hpa, "3 from Git not applied, it scales between 2 and 10", "to run 3, set maxReplicas of HPA shop/web to 3 in Git" + drops},
		"one that stands still": {
			changed(int64(6), int64(3)), idle, "6 from Git not applied, it holds 3 and does not scale: no metrics since noon",
			"to run 6, set minReplicas of HPA shop/web to 6 in Git; to see why it does not scale: kubectl describe horizontalpodautoscaler.autoscaling web -n shop",
		},
		"below both bounds":    {changed(int64(1), int64(2)), hpa, "1 from Git not applied, it scales between 2 and 10", "to run 1, set minReplicas and maxReplicas of HPA shop/web to 1 in Git" + strings.ReplaceAll(drops, "3", "1")},
		"above both bounds":    {changed(int64(12), int64(10)), hpa, "12 from Git not applied, it scales between 2 and 10", "to run 12, set minReplicas and maxReplicas of HPA shop/web to 12 in Git"},
		"none at all":          {changed(int64(0), int64(2)), hpa, "0 from Git not applied, it scales between 2 and 10", strings.TrimPrefix(strings.ReplaceAll(drops, "3", "0"), "; ")},
		"no upper bound":       {changed(int64(6), int64(3)), open, "6 from Git not applied, it scales from 2 up", "to run 6, set minReplicas of HPA shop/web to 6 in Git"},
		"another autoscaler":   {changed(int64(6), int64(3)), scaled, "6 from Git not applied, it scales between 2 and 10", "to run 6, set lower bound of " + scaled.Name() + " to 6 in Git"},
		"no object to look at": {changed(int64(6), int64(3)), nobody, "6 from Git not applied, it scales between 2 and 10", ""},
		"no count":             {changed(int64(6), int64(3)), no, "", ""},
		"a text":               {changed("6", int64(3)), hpa, "", ""},
		"no live count":        {changed(int64(6), nil), hpa, "", ""},
		"a missing field":      {missing, hpa, "", ""},
		"an addition":          {added, hpa, "", ""},
	} {
		if got := notApplied(c.d, c.c); got != c.applied {
			t.Errorf("%s: %q, want %q", name, got, c.applied)
		}
		if got := changeCount(c.d, c.c); got != c.remedy {
			t.Errorf("%s: remedy %q, want %q", name, got, c.remedy)
		}
	}
}

// TestWhatMayBeTheCountOfACustomResourceStays: without a default the field would be gone, and nothing could scale the resource any more.
func TestWhatMayBeTheCountOfACustomResourceStays(t *testing.T) {
	spec := func(v map[string]any) object.Object {
		return object.Object{"apiVersion": "example.com/v1", "kind": "Crew", "metadata": map[string]any{"name": "web"}, "spec": v}
	}
	live := spec(map[string]any{"workers": map[string]any{"count": int64(10), "shift": "day"}, "colour": "red"})
	shift := spec(map[string]any{"workers": map[string]any{"shift": "day"}})
	count := field.NewPath("spec", "workers", "count")
	const is, mayBe = "Git names no count", "it may be the count"
	for name, c := range map[string]struct {
		git    object.Object
		count  field.Path
		hidden bool
		added  field.Path
		want   string
	}{
		"the count":                        {shift, count, false, count, is},
		"what has the count":               {spec(map[string]any{}), count, false, field.NewPath("spec", "workers"), is},
		"another field":                    {shift, count, false, field.NewPath("spec", "colour"), ""},
		"a number that is no count":        {shift, nil, false, count, ""},
		"a number, and the CRD is hidden":  {shift, nil, true, count, mayBe},
		"a text, and the CRD is hidden":    {shift, nil, true, field.NewPath("spec", "colour"), ""},
		"Git's map, which has Git's count": {live, count, false, field.NewPath("spec", "workers"), ""},
	} {
		v, _ := field.ValueAt(live, c.added)
		d := compare.Difference{Path: c.added, Kind: compare.Added, Live: redact.HideValue(v)}
		got := reasonToLeaveCount(Input{Desired: c.git, Live: live, Count: c.count, CountHidden: c.hidden}, d)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: left because %q, want %q", name, got, c.want)
		}
	}
}
