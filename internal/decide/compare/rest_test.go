package compare_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestAChangeBesideWhatIsAnothersIsADifference, though live has all that Git names: the server's defaults were in the answer to the last apply.
func TestAChangeBesideWhatIsAnothersIsADifference(t *testing.T) {
	const (
		routes   = "apiVersion: example.com/v1\nkind: Router\nspec:\n  http:\n  "
		subsets  = "apiVersion: example.com/v1\nkind: Rule\nspec:\n  subsets: "
		ofRules  = `{"f:spec": {"f:subsets": {}}}`
		git      = routes + "- {name: primary, weight: 100}"
		answered = routes + "- {name: primary, weight: 100, retries: 2}"
	)
	weight := []string{"/spec/http/0/weight"}
	hash := []string{"/spec/subsets/0/labels/hash"}
	list := []string{".spec.http"}
	for name, c := range map[string]struct {
		git, answer, live string
		owned             string
		then, now         []string // withheld at the last apply, and when it is compared
		item              string   // of live, which is withheld by its name now
		want              []string
	}{
		"a weight":                         {git, answered, routes + "- {name: primary, weight: 80, retries: 2}", ofList, weight, weight, "", nil},
		"a weight, and a field beside it":  {git, answered, routes + "- {name: primary, weight: 80, retries: 2, timeout: 5s}", ofList, weight, weight, "", list},
		"a field beside the weight":        {git, answered, routes + "- {name: primary, weight: 100, retries: 2, timeout: 5s}", ofList, weight, weight, "", list},
		"a default that has another value": {git, answered, routes + "- {name: primary, weight: 80, retries: 3}", ofList, weight, weight, "", list},
		"an item before it":                {git, answered, routes + "- {name: header}\n  - {name: primary, weight: 80, retries: 2}", ofList, weight, weight, "header", nil},
		"an item before it, and a field beside the weight": {
			git, answered, routes + "- {name: header}\n  - {name: primary, weight: 80, retries: 2, timeout: 5s}", ofList, weight, weight, "header", list,
		},
		"the item has gone":              {git, routes + "- {name: header}\n  - {name: primary, weight: 80, retries: 2}", answered, ofList, append(weight, "header"), weight, "", nil},
		"a claim that is new":            {git, answered, routes + "- {name: primary, weight: 80, retries: 2}", ofList, nil, weight, "", nil},
		"one more claim":                 {git, answered, routes + "- {name: primary, weight: 80, retries: 3}", ofList, weight, []string{"/spec/http/0/weight", "/spec/http/0/retries"}, "", nil},
		"the only key":                   {subsets + "[{name: a}]", subsets + "[{name: a}]", subsets + "[{name: a, labels: {hash: x}}]", ofRules, hash, hash, "", nil},
		"the only key of a map of Git's": {subsets + "[{name: a, labels: {}}]", subsets + "[{name: a, labels: {}}]", subsets + "[{name: a, labels: {hash: x}}]", ofRules, hash, hash, "", nil},
		"a key beside it":                {subsets + "[{name: a}]", subsets + "[{name: a}]", subsets + "[{name: a, labels: {hash: x, b: c}}]", ofRules, hash, hash, "", []string{".spec.subsets"}},
	} {
		t.Run(name, func(t *testing.T) {
			git, answer, live, h := given.Object(t, c.git), given.Object(t, c.answer), given.Object(t, c.live), ownership.NewHasher()
			owners := ownedAs(t, c.owned)
			paths := func(pointers []string) (out []field.Path) {
				for _, text := range pointers {
					if text[0] != '/' {
						out = append(out, itemNamed(text))
						continue
					}
					out = append(out, pointed(text))
				}
				return out
			}
			base := compare.NewBaseline(answer, owners, h).WithRests(compare.ApplyResult{Desired: git, Result: answer, Owners: owners, Withheld: paths(c.then)}, h)
			in := compare.Input{Desired: git, Live: live, Owners: owners, Hasher: h, Baseline: base, Withheld: paths(c.now)}
			if c.item != "" {
				in.Withheld = append(in.Withheld, itemNamed(c.item))
			}
			r, err := compare.CompareObject(in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range r.Differences {
				if !slices.ContainsFunc(in.Withheld, d.Path.Equals) {
					got = append(got, field.PathString(d.Path))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// itemNamed is the route of a name.
func itemNamed(name string) field.Path {
	return append(field.NewPath("spec", "http"), field.KeyElement(map[string]any{"name": name}, []string{"name"}))
}
