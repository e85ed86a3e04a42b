package claim_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// entry is a right one; each test makes it wrong in one place.
const entry = `claims:
- id: mine
  who: our controller
  evidence: [{annotation: example.com/x}]
  on: [Deployment.apps]
  paths:
  - spec.replicas
  do: cede
  text: It writes.
`

func TestAWrongEntryIsRefusedWithItsLine(t *testing.T) {
	for _, x := range []struct{ old, now, want string }{
		{"who:", "whom:", "mine.yaml:3: unknown key whom"},
		{"spec.replicas", "spec..replicas", "mine.yaml:7: path \"spec..replicas\": want a field's name before \".replicas\""},
		{"spec.replicas", "spec.containers[0].image", "mine.yaml:7: path \"spec.containers[0].image\": [0]: want [*]"},
		{"spec.replicas", "spec.x[", "mine.yaml:7: path \"spec.x[\": a bracket is not closed"},
		{"spec.replicas", `"[*].x"`, "mine.yaml:7: path \"[*].x\": begins with a list item"},
		{"spec.replicas", "{}", "mine.yaml:7: "},
		{"Deployment.apps", ".apps", "mine.yaml:5: kind \".apps\": want Kind or Kind.group"},
		{"cede", "seed", `mine.yaml:2: mine: do: "seed": want cede, merge, allow or none`},
		{"mine\n", "Mine_1\n", "mine.yaml:2: Mine_1: id \"Mine_1\": want lower-case words"},
		{"  text: It writes.\n", "", "mine.yaml:2: mine: text: missing"},
		{"  who: our controller\n", "", "mine.yaml:2: mine: who: missing"},
		{"[{annotation: example.com/x}]", "[]", "mine.yaml:2: mine: evidence: missing"},
		{"annotation: example.com/x", "annotation: a, label: b", `mine.yaml:2: mine: evidence 1: has 2 forms ["annotation" "label"]`},
		{"annotation: example.com/x", "value: b", `mine.yaml:2: mine: evidence 1: has 0 forms []`},
		{"annotation: example.com/x", "annotation: a, operation: Apply", "mine.yaml:2: mine: evidence 1: operation, subresource: mean nothing beside annotation"},
		{"annotation: example.com/x", "annotation: a, in: [b]", "mine.yaml:2: mine: evidence 1: in: means nothing beside annotation"},
		{"annotation: example.com/x", "manager: a, value: b", "mine.yaml:2: mine: evidence 1: value: means nothing beside manager"},
		{"annotation: example.com/x", "manager: a, operation: Patch", `mine.yaml:2: mine: evidence 1: operation: "Patch": want Apply or Update`},
		{"annotation: example.com/x", "annotation: a, versions: [v1]", "mine.yaml:2: mine: evidence 1: versions, refers,"},
		{"annotation: example.com/x", "always: true", "mine.yaml:2: mine: evidence 1: always: a kind alone is no claim"},
		{"annotation: example.com/x", "placeholder: true", "mine.yaml:2: mine: evidence 1: placeholder: the entry names no placeholders"},
		{"annotation: example.com/x", "object: A.b, versions: [v1]", "mine.yaml:2: mine: evidence 1: want one of refers, names, namespace"},
		{"annotation: example.com/x", "object: A.b, refers: spec.x", "mine.yaml:2: mine: evidence 1: versions: at least one"},
		{"annotation: example.com/x", `object: "A.*", versions: [v1], refers: spec.x`, "mine.yaml:2: mine: evidence 1: object: A.*: a claimant's kind"},
		{"annotation: example.com/x", "object: A.b, versions: [v1], names: [spec.x]", "mine.yaml:2: mine: evidence 1: to: names need"},
		{"annotation: example.com/x", `object: A.b, versions: [v1], refers: "spec.x[*]"`, "mine.yaml:2: mine: evidence 1: path \"spec.x[*]\": here it must name one field"},
		{"annotation: example.com/x", "object: A.b, versions: [v1], refers: spec.x, when: [{path: a}]", "mine.yaml:2: mine: evidence 1: when: want a path"},
		{"annotation: example.com/x", "object: A.b, versions: [v1], refers: spec.x, items: [spec.y]", "mine.yaml:2: mine: evidence 1: items: want them, and $items in a path, or neither"},
		{"spec.replicas", "spec.x[name=$items]", "mine.yaml:2: mine: evidence 1: items: want them, and $items in a path, or neither"},
		{"do: cede", "do: cede\n  count: {least: 3, most: 2}", "mine.yaml:2: mine: count: from 3 to 2"},
		{"do: cede", "do: cede\n  count: {zero: no}", `mine.yaml:2: mine: zero: "no": want pause or own`},
		{"do: cede", "do: cede\n  over: [nobody]", "mine.yaml:2: mine: over: there is no entry nobody"},
		{"text: It writes.\n", "text: It writes.\n- id: mine\n  off: true\n", "mine.yaml:10: mine stands already in line 2"},
		{"text: It writes.\n", "text: It writes.\n  text: It writes.\n", `mine.yaml:10: mapping key "text" already defined at line 9`},
		{"text: It writes.\n", "text: It writes.\n---\nclaims: []\n", "mine.yaml:10: a second YAML document"},
		{"claims:", "claim:", "mine.yaml:1: unknown key claim"},
		{"claims:", "claims: x:", "mine.yaml:1: "},
		{"claims:", "claims: &a", ""},
	} {
		_, err := claim.Builtin().With("mine.yaml", []byte(strings.Replace(entry, x.old, x.now, 1)))
		switch {
		case err == nil && x.want != "":
			t.Errorf("%q for %q was taken", x.now, x.old)
		case err != nil && (x.want == "" || !strings.HasPrefix(err.Error(), x.want)):
			t.Errorf("%q for %q:\n got %v\nwant %s", x.now, x.old, err, x.want)
		}
	}
}

func TestAnEmptyFileAddsNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "claims: []\n", "claims:\n"} {
		c, err := claim.Builtin().With("x", []byte(text))
		if err != nil || len(c.Entries()) != len(claim.Builtin().Entries()) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestALongFileIsRefused(t *testing.T) {
	if _, err := claim.Builtin().With("x", []byte(strings.Repeat("#", 1<<20+1))); err == nil {
		t.Error("it was taken")
	}
}

// FuzzCatalogue looks for texts that end the program, and for entries that are taken and then end it.
func FuzzCatalogue(f *testing.F) {
	f.Add(entry)
	f.Add(mine)
	f.Add("claims: [{id: a, who: b, evidence: [{object: A.b, versions: [v1], refers: spec.x}], on: ['*'], paths: ['a[*].b[\"c*\"]'], do: merge, text: d}]")
	f.Add("claims: &a [*a]")
	base := claim.Builtin()
	f.Fuzz(func(t *testing.T, text string) {
		c, err := base.With("f", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("no line: %v", err)
			}
			return
		}
		o := given.Object(t, deploymentOf("web"))
		c.On(claim.Subject{Desired: o, Live: o}, c.Read(o))
		c.Kinds()
	})
}
