package addition_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide/addition"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// TestStories finds additions. A story has
//
//	git.yaml      what Git wants
//	live.yaml     what the cluster holds, with its managedFields; without this section nothing is there
//	settled       what the last apply made ours, as fieldsV1; without this section that is not known
//	claimants     what claims fields, as YAML
//	without.yaml  what the server makes of live when all additions are taken away; it is asked about in a dry run
func TestStories(t *testing.T) {
	golden.Run(t, "testdata/stories/*.txtar", func(t *testing.T, f golden.Files) string {
		in := input(t, f)
		found := addition.FindAdditions(in)
		var b strings.Builder
		for _, a := range found {
			b.WriteString(printAddition(in.Live, a))
		}
		if len(found) == 0 {
			b.WriteString("no additions\n")
		}
		for _, p := range addition.Pointers(in.Live, found) {
			fmt.Fprintf(&b, "take away %s\n", p)
		}
		if text, asked := f["without.yaml"]; asked {
			for _, a := range addition.WithoutDefaults(in.Live, given.Object(t, text), found) {
				fmt.Fprintf(&b, "not the server's own: %s\n", field.PathString(a.Path))
			}
		}
		return b.String()
	})
}

func input(t *testing.T, f golden.Files) addition.Input {
	t.Helper()
	in := addition.Input{Desired: given.Object(t, f.Need(t, "git.yaml")), Catalogue: claim.Builtin()}
	if text, there := f["live.yaml"]; there {
		in.Live = given.Object(t, text)
	}
	var err error
	if in.Owners, err = ownership.Entries(in.Live); err != nil {
		t.Fatal(err)
	}
	if text, known := f["settled"]; known {
		settled, err := ownership.ParseShape([]byte(strings.TrimSpace(text)))
		if err != nil {
			t.Fatal(err)
		}
		in.Settled = &settled
	}
	var claimants []claim.Claimant
	for doc := range strings.SplitSeq(f["claimants"], "\n---\n") {
		if strings.TrimSpace(doc) != "" {
			claimants = append(claimants, in.Catalogue.Read(given.Object(t, doc))...)
		}
	}
	in.Claims = in.Catalogue.On(claim.Subject{Desired: in.Desired, Live: in.Live, Owners: in.Owners}, claimants)
	return in
}

func printAddition(live object.Object, a compare.Addition) string {
	var b strings.Builder
	v, _ := field.ValueAt(live, a.Path)
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	fmt.Fprintf(&b, "%s = %s\n", field.PathString(a.Path), text)
	for _, p := range a.Owned {
		if !p.Equals(a.Path) {
			fmt.Fprintf(&b, "  owned %s\n", field.PathString(p))
		}
	}
	for _, o := range a.Held {
		fmt.Fprintf(&b, "  held by %s (%s)\n", o, o.Operation)
	}
	by := "people"
	if !a.People {
		by = "not by people alone"
	}
	fmt.Fprintf(&b, "  written by %s, %s, %s%s\n", a.Writer, a.Writer.Evidence, by, childAt(a.Writer.Time))
	if a.Kept != "" {
		fmt.Fprintf(&b, "  kept: %s\n", a.Kept)
	}
	return b.String()
}

func childAt(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", at " + t.UTC().Format(time.RFC3339)
}
