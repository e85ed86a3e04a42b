package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/truce-gitops/truce/internal/lint/baseline"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// Document is the JSON form. It is stable: within its apiVersion names are only added.
type Document struct {
	APIVersion string `json:"apiVersion"` // cli.truce.dev/v1, as all that truce prints
	Kind       string `json:"kind"`       // Audit
	// Units is how many apps and roots were looked at, Objects how many objects they describe.
	Units   int `json:"units"`
	Objects int `json:"objects"`
	// Errors, Warnings and Infos count what is new, Known what is not.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	Known    int `json:"known"`
	// Aside is how many findings about the form of values are left out.
	Aside int `json:"aside"`

	Findings []FindingForm `json:"findings"` // the new ones, then the known ones; each in the order of places
	Skipped  []SkippedForm `json:"skipped"`  // what was not looked into
	Stale    []StaleForm   `json:"stale"`    // entries of the baseline that nothing matches any more
	Assumed  []string      `json:"assumed"`  // what was taken for true in order to find the units
}

// FindingForm is one finding.
type FindingForm struct {
	Rule        string      `json:"rule"`
	Severity    string      `json:"severity"`       // error, warning, info
	Unit        string      `json:"unit,omitempty"` // the app or root that it was found in
	Object      *ObjectForm `json:"object,omitempty"`
	Path        string      `json:"path,omitempty"` // of the field
	Message     string      `json:"message"`
	Remedy      string      `json:"remedy,omitempty"`
	Place       *PlaceForm  `json:"place,omitempty"`
	Others      []PlaceForm `json:"others,omitempty"` // further places that have a part in it
	Known       bool        `json:"known"`            // by the baseline
	Fails       bool        `json:"fails"`            // it counts for the exit code
	Aside       string      `json:"aside,omitempty"`  // it is about the form of a value: form, or generated where a program has made the file
	Fingerprint string      `json:"fingerprint"`      // stays the same while lines move
}

// ObjectForm names an object.
type ObjectForm struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// PlaceForm is a place in Git.
type PlaceForm struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Field  string `json:"field,omitempty"` // of an app's custom resource, where that says it
}

// SkippedForm is something that was not looked into.
type SkippedForm struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	What   string `json:"what,omitempty"`
	Broken bool   `json:"broken"` // it should have been readable
	Why    string `json:"why"`
	Reason string `json:"reason"` // why, as it is the same for others that are alike
}

// StaleForm is an entry of the baseline.
type StaleForm struct {
	Rule    string `json:"rule"`
	Unit    string `json:"unit,omitempty"`
	Object  string `json:"object,omitempty"`
	Path    string `json:"path,omitempty"`
	File    string `json:"file,omitempty"`
	Message string `json:"message"`
	Times   int    `json:"times"` // how many are missing
}

func (s Sheet) json(w io.Writer) error { return indented(w, s.Document()) }

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Document makes the JSON form.
func (s Sheet) Document() Document {
	d := Document{
		APIVersion: "cli.truce.dev/v1", Kind: "Audit", Units: len(s.Survey.Units), Known: len(s.Findings.Known), Aside: s.Aside,
		Findings: []FindingForm{}, Skipped: []SkippedForm{}, Stale: []StaleForm{}, Assumed: append([]string{}, s.Survey.Assumed...),
	}
	for _, u := range s.Survey.Units {
		d.Objects += len(u.Objects)
	}
	d.Errors, d.Warnings, d.Infos = counts(s.Findings.New)
	for _, f := range s.Findings.New {
		d.Findings = append(d.Findings, newFinding(f, false, s.Fails(f)))
	}
	for _, f := range s.Findings.Known {
		d.Findings = append(d.Findings, newFinding(f, true, false))
	}
	for _, k := range s.Survey.Skipped {
		d.Skipped = append(d.Skipped, SkippedOf(k))
	}
	for _, e := range s.Findings.Stale {
		d.Stale = append(d.Stale, newStale(e))
	}
	return d
}

func counts(findings []rules.Finding) (errors, warnings, infos int) {
	by := map[rules.Severity]int{}
	for _, f := range findings {
		by[f.Severity]++
	}
	return by[rules.Error], by[rules.Warning], by[rules.Info]
}

// FindingOf is the form of a finding that no baseline knows, in whatever document it stands. It fails nothing.
func FindingOf(f rules.Finding) FindingForm { return newFinding(f, false, false) }

func newFinding(f rules.Finding, isKnown, fails bool) FindingForm {
	out := FindingForm{
		Rule: f.Rule, Severity: string(f.Severity), Unit: f.Unit, Path: fieldOf(f), Message: said(f.Message), Remedy: said(f.Remedy),
		Known: isKnown, Fails: fails, Aside: string(f.Aside), Fingerprint: baseline.Fingerprint(f),
	}
	if f.Object.Name != "" {
		object := ObjectForm(f.Object)
		out.Object = &object
	}
	if f.Place.Known() {
		place := newPlace(f.Place)
		out.Place = &place
	}
	for _, p := range f.Others {
		out.Others = append(out.Others, newPlace(p))
	}
	return out
}

func newPlace(p desired.Place) PlaceForm {
	return PlaceForm{File: p.File, Line: p.Line, Column: p.Column, Field: p.Field}
}

// SkippedOf is the form of something that was not looked into.
func SkippedOf(k discover.Skipped) SkippedForm {
	return SkippedForm{File: k.File, Line: k.Line, What: said(k.What), Broken: k.Broken, Why: said(k.Why), Reason: said(cmp.Or(k.Reason, k.Why))}
}

func newStale(e baseline.Entry) StaleForm {
	return StaleForm{
		Rule: e.Rule, Unit: e.Unit, Object: e.Object, Path: e.Path, File: e.File, Message: said(e.Message), Times: max(1, e.Times),
	}
}

// fieldOf is the printed path of a finding's field; empty for none.
func fieldOf(f rules.Finding) string {
	if len(f.Path) == 0 {
		return ""
	}
	return field.PathString(f.Path)
}

// where prints a place with all that is known of it.
func where(p desired.Place) string {
	switch {
	case p.File == "":
		return p.Field
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}
