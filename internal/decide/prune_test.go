package decide_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// anyRule makes PlanPrune delete what no object of these tests asks to keep.
var anyRule = optout.PruneRules{{Key: "keep", Value: "true", Match: optout.Word, Effect: optout.Keep}}

func TestWithoutRulesNothingIsDeleted(t *testing.T) {
	in := decide.PruneInput{Gone: leaving(1), Total: 9, Label: "flux-system.web", Policy: policy.PruneDelete}
	if s := decide.PlanPrune(in); len(s.Delete) != 0 || len(s.Keep) != 1 {
		t.Errorf("deleted %v, kept %v", s.Delete, s.Keep)
	}
	in.Rules = anyRule
	if s := decide.PlanPrune(in); len(s.Delete) != 1 {
		t.Errorf("with rules: deleted %v, kept %v", s.Delete, s.Keep)
	}
}

// leaving are so many objects that left Git.
func leaving(n int) []decide.PruneCandidate {
	var out []decide.PruneCandidate
	for i := range n {
		id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("c%03d", i)}
		labels := map[string]any{object.PartOf: "flux-system.web"}
		out = append(out, decide.PruneCandidate{ID: id, UID: id.Name, Live: object.Object{"metadata": map[string]any{"uid": id.Name, "labels": labels}}})
	}
	return out
}

func ptr(n int) *int { return &n }

// TestHowMuchIsPrunedWithoutApproval lists the limits: each pair lies on both sides of one.
func TestHowMuchIsPrunedWithoutApproval(t *testing.T) {
	const moved = "the path has changed from ./old"
	for _, c := range []struct {
		leaves, total, lately int
		moved                 string
		most                  *int
		held                  bool
	}{
		{leaves: 1, total: 1},
		{leaves: 3, total: 4},
		{leaves: 5, total: 5},
		{leaves: 6, total: 12},
		{leaves: 6, total: 11, held: true},
		{leaves: 9, total: 10, held: true},
		{leaves: 10, total: 30},
		{leaves: 11, total: 56},
		{leaves: 11, total: 54, held: true},
		{leaves: 1, total: 30, lately: 5},
		{leaves: 1, total: 30, lately: 10, held: true},
		{leaves: 1, total: 8, lately: 5, held: true},
		{leaves: 1, total: 2, moved: moved},
		{leaves: 1, total: 1, moved: moved, held: true},
		{leaves: 2, total: 3, moved: moved, held: true},
		{leaves: 1, total: 4, lately: 2, moved: moved, held: true},
		{leaves: 29, total: 30, most: ptr(math.MaxInt)},
		{leaves: 29, total: 30, most: ptr(29)},
		{leaves: 29, total: 300, most: ptr(28), held: true},
		{leaves: 1, total: 300, most: ptr(0), held: true},
	} {
		in := decide.PruneInput{
			Gone: leaving(c.leaves), Total: c.total, RecentlyPruned: c.lately, IdentityChange: c.moved, Limit: c.most, Label: "flux-system.web", Policy: policy.PruneDelete, Rules: anyRule,
		}
		s := decide.PlanPrune(in)
		if held := s.Held != ""; held != c.held {
			t.Errorf("%+v: held is %t: %s", c, held, s.Held)
		}
		in.Approved = s.Token
		if again := decide.PlanPrune(in); again.Held != "" || again.Approved != c.held {
			t.Errorf("%+v: approved, it is held: %q (approved %t)", c, again.Held, again.Approved)
		}
		in.Gone[0].Live.Metadata()["uid"] = "another"
		in.Gone[0].UID = "another"
		if c.held && decide.PlanPrune(in).Held == "" {
			t.Errorf("%+v: the approval holds for another object of the same name", c)
		}
	}
}

func TestAHeldPruneSaysWhatItIsAndHowToApproveIt(t *testing.T) {
	s := decide.PlanPrune(decide.PruneInput{
		Gone: leaving(8), Total: 8, RecentlyPruned: 1, IdentityChange: "the path has changed from ./old", Label: "flux-system.web", Policy: policy.PruneDelete, Rules: anyRule,
	})
	want := "9 of 9 objects would be deleted within 10 minutes, of which 1 are already, and the path has changed from ./old: ConfigMap shop/c000, " +
		"ConfigMap shop/c001, ConfigMap shop/c002, and 5 more; to approve, run truce app approve-prune, or annotate the app with " +
		"truce.dev/approve-prune=" + s.Token
	if diff := cmp.Diff(want, s.Held); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOnlyWhatBearsTheMarkOfThisAppAndIsRecordedIsDeleted: the mark, and the uid or our own apply of the mark.
func TestOnlyWhatBearsTheMarkOfThisAppAndIsRecordedIsDeleted(t *testing.T) {
	applied := []any{map[string]any{"manager": ownership.Manager, "operation": "Apply", "fieldsV1": map[string]any{
		"f:metadata": map[string]any{"f:labels": map[string]any{"f:" + object.PartOf: map[string]any{}}},
	}}}
	for what, c := range map[string]struct {
		mark, uid string
		owners    []any
		inherited bool
		want      bool
	}{
		"mark and uid":                       {mark: "flux-system.web", uid: "1", want: true},
		"mark, another uid":                  {mark: "flux-system.web", uid: "2"},
		"mark, no uid":                       {mark: "flux-system.web"},
		"mark that we applied, another uid":  {mark: "flux-system.web", uid: "2", owners: applied, want: true},
		"mark that we applied, no uid":       {mark: "flux-system.web", owners: applied, want: true},
		"another app's mark, uid":            {mark: "flux-system.api", uid: "1"},
		"another app's mark that we applied": {mark: "flux-system.api", uid: "1", owners: applied},
		"no mark, uid":                       {uid: "1"},
		"no mark, uid, adopted with the app": {uid: "1", inherited: true, want: true},
		"no mark, no uid, adopted":           {inherited: true},
		"another app's mark, uid, adopted":   {mark: "flux-system.api", uid: "1", inherited: true},
	} {
		labels := map[string]any{}
		if c.mark != "" {
			labels[object.PartOf] = c.mark
		}
		g := decide.PruneCandidate{
			ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}, UID: c.uid, Inherited: c.inherited,
			Live: object.Object{"metadata": map[string]any{"uid": "1", "labels": labels, "managedFields": c.owners}},
		}
		s := decide.PlanPrune(decide.PruneInput{Gone: []decide.PruneCandidate{g}, Total: 9, Label: "flux-system.web", Policy: policy.PruneDelete, Rules: anyRule})
		if got := len(s.Delete) == 1; got != c.want || got == (len(s.Forget) == 1) {
			t.Errorf("%s: deleted %v, forgotten %v", what, s.Delete, s.Forget)
		}
	}
}

// TestAnApprovalHoldsForWhatIsLeft: an approved prune that waits between waves goes on with the rest of the list, and with no other one.
func TestAnApprovalHoldsForWhatIsLeft(t *testing.T) {
	in := decide.PruneInput{Gone: leaving(20), Total: 20, Label: "flux-system.web", Policy: policy.PruneDelete, Rules: anyRule}
	in.Approved = decide.PlanPrune(in).Token
	all := decide.PlanPrune(in)
	if all.Held != "" || !all.Approved {
		t.Fatalf("the approved list: %+v", all)
	}
	in.Continued = in.ApprovalToken(all.Delete[:15])
	in.Gone = in.Gone[:15]
	if rest := decide.PlanPrune(in); rest.Held != "" || !rest.Approved {
		t.Errorf("the rest of the approved list: %+v", rest)
	}
	in.Gone = in.Gone[:14]
	if other := decide.PlanPrune(in); other.Held == "" {
		t.Errorf("another list: %+v", other)
	}
}
