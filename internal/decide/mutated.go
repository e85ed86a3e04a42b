package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/mutation"
	"github.com/truce-gitops/truce/internal/ownership"
	"github.com/truce-gitops/truce/internal/witness"
)

// mutated judges a field to which admission gave another value than truce sent. An apply would be changed in the same way, so it is not
// repeated: the field is ceded where the catalogue knows the mutator, and held otherwise. Git's value stays in what is sent, so that it
// takes effect as soon as admission lets it.
func mutated(in Input, d compare.Difference) Finding {
	suspects := mutation.Naming(in.Mutators.All, d.Path)
	d.Writer = witnessed(who(in, d, claim.Claim{}), mutator(suspects))
	f := Finding{Difference: d, Verdict: Hold, Reason: mutatedBy + named(in.Mutators, suspects)}
	if in.Policy.Claims == app.ClaimsOff || in.Catalogue == nil {
		return f
	}
	e, known := in.Catalogue.Admitted(in.Desired.ID(), d.Path, mutation.Names(suspects))
	if !known {
		return f
	}
	f.Claimant = e.Who
	if in.Policy.Claims == app.ClaimsCede {
		f.Verdict = Cede
	}
	f.Reason += "; known as " + e.Who + " (claim " + e.ID + ")"
	return f
}

// mutatedBy begins the reason of each finding about a field that admission changes.
const mutatedBy = "admission changes this: "

// mutator is the writer of a field that admission changed. That it was admission is certain, since the answer to truce's own apply shows it;
// which webhook or policy it was is inferred from their rules.
func mutator(suspects []mutation.Mutator) ownership.Writer {
	w := ownership.Writer{
		Name: witness.Admission, Evidence: ownership.Inferred,
		Because: []string{"the API server answered truce's own apply with this value"},
	}
	for _, s := range suspects {
		w.Because = append(w.Because, s.String()+" matches the object")
	}
	if len(suspects) == 1 {
		w.Name = suspects[0].String()
	}
	return w
}

// witnessed is the mutator, with the request in which the witness saw the field change, if it did.
func witnessed(seen, mutator ownership.Writer) ownership.Writer {
	if seen.Name != witness.Admission || seen.Evidence != ownership.Recorded {
		return mutator
	}
	seen.Because = append(slices.Clone(seen.Because), mutator.Because...)
	return seen
}

// named says which webhook or policy it is, as far as that can be known.
func named(m mutation.Mutators, suspects []mutation.Mutator) string {
	const shown = 3
	switch n := len(suspects); {
	case m.Unread != "":
		return "by which webhook or policy is unknown (" + m.Unread + ")"
	case n == 0:
		return "no webhook or policy in the cluster matches the object, so it is a part of the API server itself"
	case n == 1:
		return suspects[0].String() + " (inferred)"
	default:
		var names []string
		for _, s := range suspects[:min(n, shown)] {
			names = append(names, s.String())
		}
		if n > shown {
			names = append(names, fmt.Sprintf("%d more", n-shown))
		}
		return "one of " + strings.Join(names, ", ") + " (inferred)"
	}
}

// mutates reports whether a finding is about a field that admission changes, which stays in what is sent.
func mutates(f Finding) bool { return f.Kind == compare.Mutated }

// sendsNew reports whether Git has a new value for a field that admission changed in the last apply: it is sent, and the answer
// will show what admission makes of it. Without the object of the last apply, that apply was about the value that Git has now.
func sendsNew(in Input, p field.Path) bool {
	return standstill(in.Policy.Mode) == "" && in.Previous != nil && changedInGit(in, p)
}
