package explain

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// remedies say what would end a difference for good: the line of Git, the rule, the claimant.
func (s Subject) remedies(f Field) []string {
	if s.App == nil {
		return nil
	}
	x := f.at()
	switch {
	case x == nil:
		return s.afterwards(f)
	case x.Remedy != "" && x.Verdict != decide.Cede:
		return []string{strings.ToUpper(x.Remedy[:1]) + x.Remedy[1:] + "."}
	case x.Claimant != "" && len(x.Path) == 0:
		return []string{"Remove the " + x.Claimant + " from Git: then truce applies the object."}
	case len(x.Path) == 0:
		return s.forMissing(*x)
	case x.Verdict == decide.Cede && strings.HasPrefix(x.Reason, "ignored by "):
		return s.forIgnored(f, *x)
	case x.Verdict == decide.Cede:
		return s.forCeded(f, *x)
	case x.Verdict == decide.Reclaim:
		return []string{"Nothing to do: truce takes the ownership back."}
	case x.Claimant != "":
		return s.forClaimed(f, *x)
	}
	return append(s.standing(*x), s.forDrift(f, x.Live, x.Writer.String())...)
}

// afterwards is about a field that is as Git wants, and was not lately.
func (s Subject) afterwards(f Field) []string {
	var last journal.Entry
	for _, e := range s.RecentEntries(f.Path) {
		if e.What == journal.Corrected && e.Path == field.PathString(f.Path) {
			last = e
		}
	}
	if last.What == "" || len(f.Findings) > 0 || !s.compared() {
		return nil
	}
	return append([]string{"Nothing is left to do: it has been put back."}, s.forDrift(f, last.Live, liveWriter(last))...)
}

func (s Subject) forMissing(x report.Finding) []string {
	if x.Verdict == decide.Correct {
		return []string{"truce makes it while it runs."}
	}
	return s.standing(x)
}

func (s Subject) forIgnored(f Field, x report.Finding) []string {
	var out []string
	if p, ok := f.exact(); ok {
		out = append(out, fmt.Sprintf("Delete the field at %s: then there is nothing left to differ, and the rule can go too.", p.String()))
	}
	return append(out, fmt.Sprintf("Or, if Git is to decide: take %s off %s.", x.Claimant, s.App.Key))
}

func (s Subject) forCeded(f Field, x report.Finding) []string {
	if x.Remedy != "" {
		text := strings.ToUpper(x.Remedy[:1]) + x.Remedy[1:] + "."
		x.Remedy = ""
		return append(s.forCeded(f, x), text)
	}
	p, ok := f.exact()
	switch {
	case ok && s.App.Policy.Mode != policy.Observe:
		return []string{
			fmt.Sprintf("Delete the field at %s: then there is nothing left to differ. truce stops applying it, without a change of its value.", p.String()),
			unclaim(x),
		}
	case ok:
		return []string{fmt.Sprintf("Delete the field at %s: then there is nothing left to differ.", p.String())}
	case f.Named:
		return []string{"Take the field out of Git: then there is nothing left to differ.", unclaim(x)}
	}
	return []string{"Nothing to do: Git does not name the field, and " + x.Claimant + " writes it."}
}

// forClaimed is about a claim that is not ceded.
func (s Subject) forClaimed(f Field, x report.Finding) []string {
	var out []string
	if s.App.Policy.Claims != policy.ClaimsCede {
		out = append(out, fmt.Sprintf("Cede the field to %s: set truce.dev/claims: cede on %s (it is %q now).", x.Claimant, s.App.Key, s.App.Policy.Claims))
	}
	if p, ok := f.exact(); ok {
		out = append(out, fmt.Sprintf("Or delete the field at %s, so that only %s writes it.", p.String(), x.Claimant))
	}
	return append(out, unclaim(x))
}

// unclaim says how a claim ends: by an object that declares it, or else by what shows it.
func unclaim(x report.Finding) string {
	if strings.Contains(x.Claimant, "/") {
		return fmt.Sprintf("Or, if Git is to decide: delete %s or give it another target.", x.Claimant)
	}
	return fmt.Sprintf("Or, if Git is to decide: take away what shows the claim of %s: %s.", x.Claimant, x.Reason)
}

// standing says what holds a correction back, and how to let it go on.
func (s Subject) standing(x report.Finding) []string {
	p, to := s.App.Policy, "To have Git's value put back: "
	switch {
	case len(x.Path) == 0:
		to = "To have it made: "
	case x.Desired == nil:
		to = "To have it taken off: "
	}
	switch {
	case x.Verdict == decide.Contested:
		return []string{fmt.Sprintf("Stop %s from writing it, or leave the field to it: as long as both write, it goes back and forth.", x.Writer)}
	case x.Verdict == decide.Correct:
		return []string{"truce puts Git's value back while it runs."}
	case s.App.Suspended:
		return []string{to + fmt.Sprintf("truce app resume %s -n %s.", s.App.Key.Name, s.App.Key.Namespace)}
	case p.Mode == policy.Observe:
		return []string{to + "set truce.dev/mode: enforce."}
	case s.App.BetweenRollouts().Policy.Mode == policy.Await:
		return []string{to + fmt.Sprintf("truce app sync %s -n %s.", s.App.Key.Name, s.App.Key.Namespace)}
	case p.Remediation != policy.Remediate:
		return []string{to + fmt.Sprintf("truce app sync %s -n %s, or let %s correct drift.", s.App.Key.Name, s.App.Key.Namespace, s.App.Key)}
	}
	return nil
}

// forDrift says how a value that another writer has set becomes right.
func (s Subject) forDrift(f Field, live any, who string) []string {
	var out []string
	p, ok := f.exact()
	value := report.FormatValue(live)
	if redact.IsSecret(s.ID) {
		value = "the live value"
	}
	switch {
	case ok && live != nil:
		out = append(out, fmt.Sprintf("If %s is right: write it at %s.", value, p.String()))
	case ok:
		out = append(out, fmt.Sprintf("If it is right that the field is gone: delete it at %s.", p.String()))
	case !f.Named && live != nil:
		out = append(out, fmt.Sprintf("If %s is right: write it into Git.", value))
	}
	return append(out, fmt.Sprintf("If %s is to decide: %s", who, s.rule(f.Path)))
}

// rule is the command that adds an ignore rule about a field.
func (s Subject) rule(p field.Path) string {
	d := map[string]any{"group": s.ID.Group, "kind": s.ID.Kind, "name": s.ID.Name}
	if pointer, ok := pointerTo(p); ok {
		d["jsonPointers"] = []string{pointer}
	} else {
		d["jqPathExpressions"] = []string{jqExpression(p)}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return "add an ignore rule to " + s.App.Key.String()
	}
	return fmt.Sprintf("truce app set %s -n %s --ignore-difference '%s'", s.App.Key.Name, s.App.Key.Namespace, strings.ReplaceAll(string(text), "'", `'\''`))
}

// pointerTo is the JSON pointer to a field, unless the path leads through a list, whose positions change.
func pointerTo(p field.Path) (string, bool) {
	var out field.Pointer
	for _, e := range p {
		if e.FieldName == nil {
			return "", false
		}
		out = append(out, *e.FieldName)
	}
	return out.String(), true
}

// jqExpression names list items by what they are.
func jqExpression(p field.Path) string {
	var b strings.Builder
	for _, e := range p {
		if so := b.String(); (so == "" || strings.HasSuffix(so, " | ")) && (e.FieldName == nil || !strings.HasPrefix(jqFieldName(*e.FieldName), ".")) {
			b.WriteString(".")
		}
		switch {
		case e.FieldName != nil:
			b.WriteString(jqFieldName(*e.FieldName))
		case e.Key != nil:
			var wants []string
			for _, k := range *e.Key {
				value, _ := json.Marshal(k.Value.Unstructured()) // a list key is a plain value
				wants = append(wants, jqFieldName(k.Name)+" == "+string(value))
			}
			b.WriteString("[] | select(" + strings.Join(wants, " and ") + ") | ")
		case e.Value != nil:
			value, _ := json.Marshal((*e.Value).Unstructured())
			b.WriteString("[] | select(. == " + string(value) + ") | ")
		case e.Index != nil:
			fmt.Fprintf(&b, "[%d]", *e.Index)
		}
	}
	return strings.TrimSuffix(b.String(), " | ")
}

func jqFieldName(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" {
		return "." + name
	}
	return "[" + strconv.Quote(name) + "]"
}
