package decide

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// mutated judges a field to which admission gave another value than truce sent. An apply would be changed in the same way, so it is not
// repeated: the field is ceded where the catalogue or the witness knows the mutator, and held otherwise. Git's value stays in what is sent,
// so that it takes effect as soon as admission lets it.
func mutated(in Input, d compare.Difference) Finding {
	suspects := mutation.MutatorsNaming(in.Mutators.All, d.Path)
	d.Writer = likelyMutator(attributeWriter(in, d, claim.Claim{}), suspects)
	f := Finding{Difference: d, Verdict: Hold, Reason: mutatedBy + mutatorText(in.Mutators, suspects, d.Writer.Evidence)}
	if in.Policy.Claims == policy.ClaimsOff {
		return f
	}
	by, why := knownMutator(in, d, suspects)
	if by == "" {
		return f
	}
	f.Claimant, f.Reason = by, f.Reason+why
	if in.Policy.Claims == policy.ClaimsCede {
		f.Verdict = Cede
	}
	return f
}

// knownMutator names the mutator that has a claim to the field: the catalogue knows it by its name, or the witness saw admission change the
// field in another request while a single webhook or policy matches the object. It is empty for none.
func knownMutator(in Input, d compare.Difference, suspects []mutation.Mutator) (by, why string) {
	if in.Catalogue != nil {
		if e, known := in.Catalogue.Admitted(in.Desired.ID(), d.Path, mutation.MutatorNames(suspects)); known {
			return e.Who, "; known as " + e.Who + " (claim " + e.ID + ")"
		}
	}
	if len(suspects) == 1 && d.Writer.Evidence == ownership.Recorded {
		return suspects[0].String(), "; the witness saw it change the field in a request " + d.Writer.During
	}
	return "", ""
}

// mutatedBy begins the reason of each finding about a field that admission changes.
const mutatedBy = "admission changes this: "

// likelyMutator is the writer of a field that admission changed. That it was admission is certain, since the answer to truce's own apply shows it.
// Which webhook or policy it was is inferred from their rules, and recorded where the witness saw admission change the field and one matches,
// without conditions of its own.
func likelyMutator(seen ownership.Writer, suspects []mutation.Mutator) ownership.Writer {
	w := ownership.Writer{
		Name: attribution.Admission, Evidence: ownership.Inferred, Often: seen.Often, Before: seen.Before,
		Because: []string{"the API server answered truce's own apply with this value"},
	}
	perhaps := len(suspects) == 1 && suspects[0].Conditional
	if seen.Name == attribution.Admission && seen.Evidence == ownership.Recorded && !perhaps {
		w.Evidence, w.During, w.Operation, w.Time = seen.Evidence, seen.During, seen.Operation, seen.Time
		w.Because = append(w.Because, seen.Because...)
	}
	for _, s := range suspects {
		w.Because = append(w.Because, s.String()+matches(s))
	}
	if len(suspects) == 1 {
		w.Name = suspects[0].String()
	}
	return w
}

func matches(m mutation.Mutator) string {
	if m.Conditional {
		return " may match the object: its matchConditions are not evaluated"
	}
	return " matches the object"
}

// mutatorText says which webhook or policy it is, as far as that can be known.
func mutatorText(m mutation.Mutators, suspects []mutation.Mutator, how ownership.Evidence) string {
	const shown = 3
	switch n := len(suspects); {
	case m.Unread != "":
		return "by which webhook or policy is unknown (" + m.Unread + ")"
	case n == 0:
		return "no webhook or policy in the cluster matches the object, so it is a part of the API server itself"
	case n == 1:
		return suspects[0].String() + " (" + string(how) + ")"
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

// sendsNewItem reports whether Git has a new value for a field that admission changed in the last apply: it is sent, and the answer
// will show what admission makes of it. Without the object of the last apply, that apply was about the value that Git has now.
func sendsNewItem(in Input, p field.Path) bool {
	return in.Policy.Mode.Holds() == "" && in.Previous != nil && changedInGit(in, p)
}
