package compare_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// ownedAs are the owners of an object of which our entry has the fields, in managedFields' own form.
func ownedAs(t *testing.T, fields string) []ownership.Entry {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(fields), &v); err != nil {
		t.Fatal(err)
	}
	owners, err := ownership.Entries(object.Object{"metadata": map[string]any{"managedFields": []any{
		map[string]any{"manager": ownership.Manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": v},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return owners
}

// pointed is the path of a pointer in which numbers are positions.
func pointed(pointer string) field.Path {
	var out field.Path
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if i, err := strconv.Atoi(token); err == nil {
			out = append(out, field.Element{Index: &i})
			continue
		}
		out = append(out, field.NewPath(token)...)
	}
	return out
}

const (
	canary    = "apiVersion: example.com/v1\nkind: Router\nspec:\n  http:\n  "
	stable    = "- route: [{host: web, weight: 100}, {host: web-canary, weight: 0}]"
	selecting = "apiVersion: example.com/v1\nkind: Router\nspec:\n  selector: "
	shifted   = "- route: [{host: web, weight: 80}, {host: web-canary, weight: 20}]"
	header    = "- {name: header, route: [{host: web-canary}]}\n  "
	ofList    = `{"f:spec": {"f:http": {}}}`
)

// TestWhatWasWithheldIsGitsWhenItsClaimEnds: truce itself has applied live's value of a part that was another's, so that live is as the last apply left it.
func TestWhatWasWithheldIsGitsWhenItsClaimEnds(t *testing.T) {
	weights := []string{"/spec/http/0/route/0/weight", "/spec/http/0/route/1/weight"}
	for name, c := range map[string]struct {
		git, live, owned string
		released         []string // with the positions of Git's object
		foreign          field.Path
		want             []string
		withheld         []string // with the positions of Git's object: another's still
	}{
		"weights beside a route of the claimant's": {
			canary + stable, canary + header + shifted, ofList, weights, field.NewPath("spec", "http"),
			[]string{".spec.http[0].route[0].weight", ".spec.http[0].route[1].weight"}, nil,
		},
		"weights of a route that is none of live's": {
			canary + stable, canary + "- {timeout: 1s, route: [{host: web-canary}]}\n  - {timeout: 2s, route: [{host: web}]}", ofList, weights, nil, []string{".spec.http"}, nil,
		},
		"a route of the claimant's": {
			canary + stable, canary + header + stable, ofList, weights, field.NewPath("spec", "http"), []string{".spec.http"}, nil,
		},
		"a route of the claimant's, beside weights that are another's still": {
			canary + stable, canary + header + shifted, ofList, nil, field.NewPath("spec", "http"), []string{".spec.http"}, weights,
		},
		"weights that Git does not name": {
			canary + "- route: [{host: web}, {host: web-canary}]", canary + shifted, ofList, weights, nil, []string{".spec.http"}, nil,
		},
		"a position that Git's list has not": {
			canary + "- route: [{host: web}]", canary + "- route: [{host: web}]\n  - route: [{host: other}]", ofList, []string{"/spec/http/1"}, nil, nil, nil,
		},
		"a key of the claimant's": {
			selecting + "{app: web}", selecting + "{app: web, hash: a}", `{"f:spec": {"f:selector": {}}}`, []string{"/spec/selector/hash"}, nil, []string{".spec.selector"}, nil,
		},
		"a key of the claimant's that is gone": {
			selecting + "{app: web}", selecting + "{app: web}", `{"f:spec": {"f:selector": {}}}`, []string{"/spec/selector/hash"}, nil, nil, nil,
		},
		"a key beside those that have owners of their own": {
			selecting + "{app: web}", selecting + "{app: web, hash: a}", `{"f:spec": {"f:selector": {"f:app": {}}}}`, []string{"/spec/selector/hash"}, nil, nil, nil,
		},
		"what is in a map that Git only says to be there": {
			selecting + "{}", selecting + "{hash: a}", `{"f:spec": {"f:selector": {}}}`, []string{"/spec/selector/hash"}, nil, nil, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			git, live, h := given.Object(t, c.git), given.Object(t, c.live), ownership.NewHasher()
			owners := ownedAs(t, c.owned)
			in := compare.Input{Desired: git, Live: live, Owners: owners, Hasher: h, Baseline: compare.NewBaseline(live, owners, h)}
			for _, pointer := range c.released {
				in.Released = append(in.Released, pointed(pointer))
			}
			for _, pointer := range c.withheld {
				in.Withheld = append(in.Withheld, pointed(pointer))
			}
			if c.foreign != nil {
				in.Released = append(in.Released, append(c.foreign, field.KeyElement(map[string]any{"name": "header"}, []string{"name"})))
			}
			r, err := compare.CompareObject(in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range r.Differences {
				got = append(got, field.PathString(d.Path))
				if d.Kind != compare.Changed {
					t.Errorf("%s is %s", field.PathString(d.Path), d.Kind)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
