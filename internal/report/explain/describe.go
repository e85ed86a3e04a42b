package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// Part is one part of a story: what it is about, in a word, and its sentences.
type Part struct {
	Title     string   `json:"title"`
	Sentences []string `json:"sentences"`
}

// Describe is the story of a field; of the whole object for an empty path.
func (s Subject) Describe(p field.Path) []Part {
	all := []Part{{"App", s.describeApp()}}
	if len(p) == 0 {
		all = append(all, s.describeObject()...)
	} else {
		all = append(all, s.describeField(s.Field(p))...)
	}
	all = append(all, Part{"Not known", s.Unknown}, Part{"Note", s.Notes})
	var out []Part
	for _, part := range all {
		for i := range part.Sentences {
			part.Sentences[i] = redact.MaskText(part.Sentences[i])
		}
		if len(part.Sentences) > 0 {
			out = append(out, part)
		}
	}
	return out
}

func (s Subject) describeApp() []string {
	var out []string
	var of app.App // as it holds for the source that describes the object
	if s.App != nil {
		of = s.App.OfFile(s.Found.File)
	}
	switch {
	case s.Unsure:
		out = append(out, "None of the apps that could be looked at manages it; whether another one does is not known.")
	case s.App == nil:
		out = append(out, "No app manages it: truce writes nothing to it.")
	case s.Revision != "":
		out = append(out, fmt.Sprintf("%s keeps it as Git has it: %s, path %s, at %s.", s.App.Key, of.Source, of.Path, revision(s.Revision)))
	default:
		out = append(out, fmt.Sprintf("%s keeps it: %s, path %s.", s.App.Key, of.Source, of.Path))
	}
	if s.App != nil && s.App.Suspended {
		out = append(out, "The app is suspended: drift is seen, and nothing is written.")
	}
	if s.App != nil && s.App.Policy.Mode == policy.Observe {
		out = append(out, "It is in observe mode: what truce would do is reported, and nothing is written.")
	}
	for _, o := range s.Others {
		out = append(out, fmt.Sprintf("%s names it too: remove it from one of the two.", o))
	}
	return append(out, s.describeOwners()...)
}

// revision cuts the hash to what people compare.
func revision(r string) string {
	each := strings.Fields(r) // of several sources
	for i, one := range each {
		if head, hash, ok := strings.Cut(one, ":"); ok {
			each[i] = head + ":" + shortHash(hash)
		}
	}
	return strings.Join(each, " ")
}

// describeOwners says who else answers for the object.
func (s Subject) describeOwners() []string {
	var out []string
	of := "It"
	for _, m := range s.Makers {
		out = append(out, fmt.Sprintf("%s was made by %s, which answers for it (metadata.ownerReferences).", of, m))
		of = "That"
	}
	switch {
	case s.Orphan != "" && s.Unsure:
		out = append(out, fmt.Sprintf("It has the mark %s=%s: ask those who may read that app.", object.PartOf, s.Orphan))
	case s.Orphan != "":
		out = append(out, fmt.Sprintf("It has the mark %s=%s of an app that is not there any more, or was renamed.", object.PartOf, s.Orphan))
	}
	if s.Keeping != "" {
		out = append(out, s.Keeping)
	}
	if s.App == nil {
		out = append(out, s.tools()...)
	}
	return out
}

func (s Subject) describeField(f Field) []Part {
	return []Part{
		{"Git", s.describeGit(f)}, {"Live", s.describeLive(f)}, {"Written by", s.describeWriter(f)}, {"truce", s.describeVerdicts(f)},
		{"Lately", s.describeRecent(f.Path)}, {"To end it", s.remedies(f)},
	}
}

func (s Subject) describeGit(f Field) []string {
	p, ok := f.place()
	switch {
	case s.App == nil:
		return nil
	case s.Leaving || s.Git == nil && s.Stage == report.Done:
		return []string{"Git does not describe the object (any more)."}
	case s.Git == nil:
		return []string{"What Git wants is not known now."}
	case !f.Named:
		return []string{"Git does not name this field."}
	case !ok:
		return []string{fmt.Sprintf("Git wants %s. No line of the source says so by itself: truce or the app adds it, or the file is made by something that truce does not follow.", report.FormatValue(f.Git))}
	}
	if p.Field != "" {
		return []string{fmt.Sprintf("The app wants %s: %s%s says so.", report.FormatValue(f.Git), p.String(), describeMeans(p))}
	}
	out := []string{fmt.Sprintf("Git wants %s: %s%s says so.", report.FormatValue(f.Git), p.String(), describeMeans(p))}
	if !p.Exact {
		out = []string{fmt.Sprintf("Git wants %s: %s%s has a part in it; what else has (a variable, a replacement, the app's own patches) is not followed.", report.FormatValue(f.Git), p.String(), describeMeans(p))}
	}
	var lost []string
	for _, o := range f.overruled() {
		lost = append(lost, o.String()+describeMeans(o))
	}
	if len(lost) > 0 {
		out = append(out, fmt.Sprintf("It goes over %s.", joinTexts(lost)))
	}
	if f.Commit != nil {
		out = append(out, s.commit(*f.Commit))
	}
	return out
}

func (s Subject) describeLive(f Field) []string {
	switch {
	case s.Live == nil:
		return []string{"The object is not in the cluster."}
	case !f.There:
		return []string{"The field is not there."}
	}
	return []string{"It is " + report.FormatValue(f.Live) + "."}
}

func (s Subject) describeWriter(f Field) []string {
	if s.Live == nil {
		return nil
	}
	if out := s.describeFieldOwners(f.Path); branches(f.Live) && len(out) > 0 {
		return out
	}
	out := s.describeWrite(f)
	var owners []string
	for _, o := range f.Owners {
		owners = append(owners, s.owner(o))
	}
	if len(owners) > 1 || len(owners) == 1 && !f.alone() {
		out = append(out, "managedFields name "+joinTexts(owners)+".")
	}
	if slices.ContainsFunc(f.Owners, func(o ownership.Entry) bool { return o.IsApply(ownership.Handover) }) {
		out = append(out, ownership.Handover+" only holds the value since truce stopped applying it: the next write of its claimant takes it over.")
	}
	return out
}

// describeWrite says who wrote the live value, when, and by which evidence.
func (s Subject) describeWrite(f Field) []string {
	w := f.Writer
	if w.Name == "" && f.There && len(f.Owners) == 0 && len(f.Findings) == 0 {
		return []string{"Unknown: managedFields name no manager. It is a default of the API server, admission has set it, or it was scaled while no manager owned it."}
	}
	if w.Name == "" {
		return append([]string{"Unknown: there is no record of it."}, w.Because...)
	}
	when := "; no time is kept of it"
	if !w.Time.IsZero() {
		when = ", " + s.timed(w)
	}
	certain := w
	certain.Evidence = ownership.Recorded // String would say it too
	out := []string{fmt.Sprintf("%s: %s%s.", evidence(w.Evidence), certain, when)}
	if f.alone() {
		out[0] = fmt.Sprintf("%s: %s (%s%s).", evidence(w.Evidence), f.Owners[0].Manager, operationName(f.Owners[0]), strings.Replace(when, "; no time is kept of it", ", no time recorded", 1))
	}
	for _, b := range w.Because {
		if w.Evidence == ownership.Inferred || !strings.HasPrefix(b, "managedFields: ") { // which are printed in full
			out = append(out, "By "+b+".")
		}
	}
	if w.Before != nil {
		out = append(out, fmt.Sprintf("Before that it was %s.", report.FormatValue(w.Before)))
	}
	if w.Often > 1 {
		out = append(out, fmt.Sprintf("It was changed %s within an hour.", countTimes(w.Often)))
	}
	return out
}

// alone reports whether the writer is the one owner that managedFields name, and nothing more is known of it.
func (f Field) alone() bool {
	return len(f.Owners) == 1 && f.Owners[0].String() == f.Writer.Name && f.Writer.User+f.Writer.During == ""
}

// describeVerdicts says what truce does about it and why.
func (s Subject) describeVerdicts(f Field) []string {
	var out []string
	for _, x := range f.Findings {
		out = append(out, s.verdict(f.Path, x))
		if place, ok := s.Field(x.Path).place(); ok && !field.HasPrefix(f.Path, x.Path) {
			out = append(out, fmt.Sprintf("Git names it at %s%s.", place.String(), describeMeans(place)))
		}
	}
	switch {
	case len(out) > 0 || s.App == nil || s.Git == nil || !s.compared():
	case !f.Named:
		out = append(out, "Nothing: Git does not name it, and so truce does not write it.")
	case f.There:
		out = append(out, "Nothing to do: it is as Git wants it.")
	}
	if s.Found.Problem != "" {
		out = append(out, "The object could not be compared: "+s.Found.Problem+".")
	}
	return out
}

func (s Subject) verdict(of field.Path, x report.Finding) string {
	text := string(x.Verdict) + ": " + x.Reason
	if x.Verdict == decide.Cede {
		text = x.IgnoredText() + x.IgnoredBecause()
	}
	text += "."
	switch {
	case len(x.Path) == 0:
		return "The whole object: " + text
	case x.Path.Equals(of):
		return text
	}
	return fmt.Sprintf("%s (%s in Git, %s live, by %s): %s", field.PathString(x.Path), report.FormatValue(x.Desired), report.FormatValue(x.Live), x.Writer, text)
}

func (s Subject) describeObject() []Part {
	return []Part{
		{"Git", s.describeDocument()}, {"Live", s.describeState()}, {"Written by", s.describeWriters()}, {"truce", s.describeVerdicts(Field{Findings: s.Field(nil).Findings, Named: true, There: s.Live != nil})},
		{"Lately", s.describeRecent(nil)}, {"To end it", s.allRemedies()},
	}
}

func (s Subject) describeDocument() []string {
	switch {
	case s.App == nil:
		return nil
	case s.Leaving:
		return []string{"Git does not describe it any more: a run that goes through prunes it."}
	case s.Git == nil && s.Stage == report.Done:
		return []string{"Git does not describe it."}
	case s.Git == nil:
		return []string{"What Git wants is not known now."}
	}
	out := []string{fmt.Sprintf("%s:%d describes it.", s.Found.File, s.Found.Line)}
	if c, ok := s.Commits[Spot{s.Found.File, s.Found.Line}]; ok {
		out = append(out, s.commit(c))
	}
	return out
}

func (s Subject) describeState() []string {
	if s.Live == nil {
		return []string{"It is not in the cluster."}
	}
	text := "It is there"
	if t, err := time.Parse(time.RFC3339, fmt.Sprint(s.Live.Object().At("metadata", "creationTimestamp"))); err == nil {
		text += " since " + s.when(t)
	}
	if h := s.Found.Health; h.Code != "" {
		text += "; its health is " + string(h.Code)
		if h.Message != "" {
			text += " (" + h.Message + ")"
		}
	}
	return []string{text + "."}
}

// describeFieldOwners says who owns how many fields below a path.
func (s Subject) describeFieldOwners(p field.Path) []string {
	var out []string
	for _, o := range s.Owners {
		switch n := len(o.Fields.Below(p)); n {
		case 0:
		case 1:
			out = append(out, s.owner(o)+" owns 1 field.")
		default:
			out = append(out, fmt.Sprintf("%s owns %d fields.", s.owner(o), n))
		}
	}
	return out
}

// branches reports whether a value holds others.
func branches(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

func (s Subject) describeWriters() []string {
	out := s.describeFieldOwners(nil)
	if s.Live != nil && len(out) == 0 {
		out = append(out, "Unknown: it has no managedFields.")
	}
	return out
}

// allRemedies are those of each finding, none twice.
func (s Subject) allRemedies() []string {
	var out []string
	for _, x := range s.Found.Findings {
		for _, r := range s.remedies(s.Field(x.Path)) {
			if !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// exact is the place to change, if one line alone gives the field its value.
func (f Field) exact() (desired.Place, bool) {
	p, ok := f.place()
	return p, ok && p.Exact && p.Variable == ""
}
