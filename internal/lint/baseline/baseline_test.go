package baseline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/lint/baseline"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// replicas is a finding with all that one can have.
func replicas(name string, line int) rules.Finding {
	return rules.Finding{
		Rule: "replicas-autoscaled", Severity: rules.Error, Unit: "Kustomization flux-system/web",
		Object: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name}, Path: field.NewPath("spec", "replicas"),
		Place: desired.Place{File: "apps/web.yaml", Line: line, Column: 3}, Message: "replicas: 3 at apps/web.yaml:" + string(rune('0'+line)) + ":3, and an HPA scales it",
	}
}

// orphan is one that is about no object.
func orphan(file string) rules.Finding {
	return rules.Finding{Rule: "depends-on-missing", Place: desired.Place{File: file, Line: 4}, Message: "dependsOn: there is no db, see line 4"}
}

func text(t *testing.T, l baseline.List) string {
	t.Helper()
	b, err := l.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func read(t *testing.T, text string) baseline.List {
	t.Helper()
	l, err := baseline.ParseFile("known.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAFindingStaysKnownWhileItsLinesMove(t *testing.T) {
	l := read(t, text(t, baseline.FromFindings([]rules.Finding{replicas("web", 6), orphan("a.yaml")})))
	moved := replicas("web", 9)
	got := l.Compare([]rules.Finding{moved, orphan("a.yaml"), replicas("cart", 6), orphan("b.yaml")})
	want := baseline.Comparison{Known: []rules.Finding{moved, orphan("a.yaml")}, New: []rules.Finding{replicas("cart", 6), orphan("b.yaml")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if baseline.Fingerprint(moved) != baseline.Fingerprint(replicas("web", 6)) || baseline.Fingerprint(moved) == baseline.Fingerprint(replicas("cart", 6)) {
		t.Error("the fingerprint follows the line, or does not follow the object")
	}
}

func TestOneMoreOfTheSameIsNew(t *testing.T) {
	twice := []rules.Finding{replicas("web", 6), replicas("web", 8)}
	l := read(t, text(t, baseline.FromFindings(twice)))
	got := l.Compare(append(slices.Clone(twice), replicas("web", 9)))
	if len(got.Known) != 2 || len(got.New) != 1 || got.New[0].Place.Line != 9 {
		t.Errorf("got %d known, new %v", len(got.Known), got.New)
	}
	got = l.Compare(twice[:1])
	if len(got.Stale) != 1 || len(got.Known) != 1 {
		t.Errorf("one of two is gone: got stale %v, %d known", got.Stale, len(got.Known))
	}
}

func TestAFindingOfABaseIsKnownInEachOverlay(t *testing.T) {
	of := func(units ...string) []rules.Finding {
		f := replicas("web", 6)
		f.Unit = units[0]
		for _, u := range units[1:] {
			f.Repeats = append(f.Repeats, rules.Repeat{Unit: u, Object: f.Object})
		}
		return []rules.Finding{f}
	}
	for name, test := range map[string]struct {
		before, now []rules.Finding
		stale       int
	}{
		"the same":             {before: of("a", "b"), now: of("a", "b")},
		"one more before it":   {before: of("b"), now: of("a", "b")},
		"one more behind it":   {before: of("a"), now: of("a", "b")},
		"the first one is out": {before: of("a", "b"), now: of("b"), stale: 1},
	} {
		got := baseline.FromFindings(test.before).Compare(test.now)
		if len(got.New) != 0 || len(got.Known) != 1 || len(got.Stale) != test.stale {
			t.Errorf("%s: got %d new, %d known, %d stale, want 0, 1, %d", name, len(got.New), len(got.Known), len(got.Stale), test.stale)
		}
	}
}

func TestAnEntryThatNobodyFindsIsStale(t *testing.T) {
	l := baseline.FromFindings([]rules.Finding{replicas("web", 6), replicas("cart", 6)})
	got := l.Compare([]rules.Finding{replicas("web", 6)})
	if len(got.Stale) != 1 || got.Stale[0].Object != "Deployment.apps shop/cart" {
		t.Errorf("got stale %v", got.Stale)
	}
}

const written = `# Findings that are known here: truce audit --baseline shows them, and does not fail for them.
# truce audit --write-baseline replaces this file; an entry that nothing matches any more is said to be stale.
# +argocd:skip-file-rendering
apiVersion: audit.truce.dev/v1
kind: Baseline
findings:
  - rule: depends-on-missing
    file: a.yaml
    message: 'dependsOn: there is no db, see line'
  - rule: replicas-autoscaled
    unit: Kustomization flux-system/web
    object: Deployment.apps shop/cart
    path: .spec.replicas
    message: 'replicas: 3 at apps/web.yaml, and an HPA scales it'
  - rule: replicas-autoscaled
    unit: Kustomization flux-system/web
    object: Deployment.apps shop/web
    path: .spec.replicas
    message: 'replicas: 3 at apps/web.yaml, and an HPA scales it'
    times: 2
`

func TestTheFileIsTheSameInEveryOrder(t *testing.T) {
	findings := []rules.Finding{replicas("web", 6), orphan("a.yaml"), replicas("cart", 1), replicas("web", 7)}
	for range 2 {
		if diff := cmp.Diff(written, text(t, baseline.FromFindings(findings))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		slices.Reverse(findings)
	}
	if diff := cmp.Diff(written, text(t, read(t, written))); diff != "" {
		t.Errorf("read and written again (-want +got):\n%s", diff)
	}
	if l := read(t, text(t, baseline.List{})); len(l.Entries) != 0 {
		t.Errorf("an empty list has %v", l.Entries)
	}
}

func TestAFileThatIsNotUnderstoodIsRefusedWithItsLine(t *testing.T) {
	const top = "apiVersion: audit.truce.dev/v1\nkind: Baseline\nfindings:\n"
	for _, test := range []struct{ text, want string }{
		{"", "known.yaml:1: empty"},
		{"apiVersion: v1\nkind: Baseline\n", `known.yaml:1: apiVersion "v1" and kind "Baseline"`},
		{top + "- rule: a\n", "known.yaml:4: an entry without message"},
		{top + "- rule: a\n  message: b\n- message: b\n", "known.yaml:6: an entry without rule"},
		{top + "- rule: a\n  message: b\n  severity: error\n", "known.yaml:6: unknown key severity"},
		{top + "- rule: [a]\n  message: b\n", "known.yaml:4: cannot unmarshal"},
		{top + "- rule: a\n  message: b\n- rule: a\n  message: b\n  times: 2\n", "known.yaml:6: the same entry twice"},
		{top + "- rule: a\n  message: b\n  times: -1\n", "known.yaml:4: times: -1"},
		{top + "- &a {rule: a, message: b}\n- *a\n", "known.yaml:5: an alias"},
		{top + "- rule: a\n message: b\n", "known.yaml:"},
		{top + "- just text\n", "known.yaml:4: cannot unmarshal"},
		{"[]\n", "known.yaml:1: cannot unmarshal"},
		{strings.TrimSuffix(top, "\n") + " text\n", "known.yaml:3: cannot unmarshal"},
		{top + "---\nkind: Baseline\n", "known.yaml:4: a second YAML document"},
		{"{\"apiVersion\": 1", "known.yaml:1: "},
	} {
		_, err := baseline.ParseFile("known.yaml", []byte(test.text))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "baseline.") {
			t.Errorf("%q: got %v, want %s", test.text, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written)
	f.Add("findings: [")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, in string) {
		l, err := baseline.ParseFile("known.yaml", []byte(in))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "known.yaml:") {
				t.Errorf("no line: %v", err)
			}
			return
		}
		out, err := l.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := baseline.ParseFile("known.yaml", out)
		if err != nil {
			t.Fatalf("what is written cannot be read: %v\n%s", err, out)
		}
		if diff := cmp.Diff(l, again); diff != "" && len(l.Entries) > 0 {
			t.Errorf("(-read +again):\n%s", diff)
		}
	})
}
