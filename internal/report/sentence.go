package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Sentence describes one finding: what differs, from what to what, who did it, and what becomes of it.
// Its text has no durations and no times, so that equal findings read the same.
func (f Finding) Sentence(id object.ID) string { return f.SentenceAt(id, field.PathString(f.Path)) }

// SentenceAt is Sentence about a field of which the printed path is known alone, as of the journal's: the finding's Path is not read.
func (f Finding) SentenceAt(id object.ID, path string) string {
	if path == field.PathString(nil) && f.Kind == compare.Missing {
		return fmt.Sprintf("%s is missing%s: %s", id, deleter(f), f.Reason)
	}
	if f.Kind == compare.Unmanaged {
		return fmt.Sprintf("%s: %s", id, f.Reason)
	}
	what := fmt.Sprintf("%s %s: %s (Git) vs %s (live, set by %s)", id, path, FormatValue(f.Desired), FormatValue(f.Live), f.Writer)
	return what + ": " + outcome(f)
}

// deleter says who has deleted an object, where that is known.
func deleter(f Finding) string {
	if f.Writer.Name == "" {
		return ""
	}
	return ", deleted by " + f.Writer.String()
}

func outcome(f Finding) string {
	switch f.Verdict {
	case decide.Correct:
		if f.CededTo != "" {
			return "put back, no longer ceded to " + f.CededTo
		}
		return "put back"
	case decide.Cede:
		if f.NotApplied != "" {
			f.Reason = f.IgnoredText() + ": " + f.NotApplied
			return withRemedy(f)
		}
		return f.IgnoredText()
	default:
		return withRemedy(f)
	}
}

// IgnoredText says of a ceded field that its difference is ignored, and why: "ignored: owned by HPA shop/web (ceded)", "ignored: by
// spec.ignoreDifferences[0] (ceded)".
func (f Finding) IgnoredText() string {
	switch {
	case f.Claimant == "":
		return "ignored (ceded)"
	case f.IsCededByRule():
		return "ignored: by " + f.Claimant + " (ceded)"
	}
	return "ignored: owned by " + f.Claimant + " (ceded)"
}

// IgnoredBecause is what comes behind IgnoredText: the evidence of the claim, which for an ignore rule is the rule again and is left out.
func (f Finding) IgnoredBecause() string {
	if strings.HasSuffix(f.Reason, f.Claimant) && f.IsCededByRule() {
		return ""
	}
	return ": " + f.Reason
}

// IsCededByRule reports whether the claimant is no object but a field of the app, or an annotation or label of the object.
func (f Finding) IsCededByRule() bool {
	return slices.ContainsFunc([]string{"spec.", "annotation ", "label "}, func(p string) bool { return strings.HasPrefix(f.Claimant, p) })
}

// maxShown is how much of a value a sentence shows.
const maxShown = 120

// FormatValue prints a value as compact JSON, cut where it is long; "nothing" where there is none.
func FormatValue(v any) string {
	if v == nil {
		return "nothing"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it is read by people, not by browsers
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("%v", v)
	}
	text := bytes.TrimSpace(b.Bytes())
	if len(text) > maxShown {
		return strings.ToValidUTF8(string(text[:maxShown]), "") + "…"
	}
	return string(text)
}

// withRemedy is the reason of a finding, and what the user can do.
func withRemedy(f Finding) string {
	if f.Remedy == "" {
		return f.Reason
	}
	return f.Reason + "; " + f.Remedy
}

// NotAppliedText says in brackets that a ceded count of Git's is not applied; empty for any other finding.
func (f Finding) NotAppliedText() string {
	if f.NotApplied == "" {
		return ""
	}
	return " (" + f.NotApplied + ")"
}
