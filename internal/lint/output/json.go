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

	Findings []FindingJSON `json:"findings"` // the new ones, then the known ones; each in the order of places
	Skipped  []SkippedJSON `json:"skipped"`  // what was not looked into
	Stale    []StaleJSON   `json:"stale"`    // entries of the baseline that nothing matches any more
	Assumed  []string      `json:"assumed"`  // what was taken for true in order to find the units
}

// FindingJSON is one finding.
type FindingJSON struct {
	Rule        string      `json:"rule"`
	Severity    string      `json:"severity"`       // error, warning, info
	Unit        string      `json:"unit,omitempty"` // the app or root that it was found in
	Object      *ObjectJSON `json:"object,omitempty"`
	Path        string      `json:"path,omitempty"` // of the field
	Message     string      `json:"message"`
	Remedy      string      `json:"remedy,omitempty"`
	Place       *PlaceJSON  `json:"place,omitempty"`
	Others      []PlaceJSON `json:"others,omitempty"` // further places that have a part in it
	Known       bool        `json:"known"`            // by the baseline
	Fails       bool        `json:"fails"`            // it counts for the exit code
	Aside       string      `json:"aside,omitempty"`  // it is about the form of a value: form, or generated where a program has made the file
	Fingerprint string      `json:"fingerprint"`      // stays the same while lines move
}

// ObjectJSON names an object.
type ObjectJSON struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// PlaceJSON is a place in Git.
type PlaceJSON struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Field  string `json:"field,omitempty"` // of an app's custom resource, where that says it
}

// SkippedJSON is something that was not looked into.
type SkippedJSON struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	What   string `json:"what,omitempty"`
	Broken bool   `json:"broken"` // it should have been readable
	Why    string `json:"why"`
	Reason string `json:"reason"` // why, as it is the same for others that are alike
}

// StaleJSON is an entry of the baseline.
type StaleJSON struct {
	Rule    string `json:"rule"`
	Unit    string `json:"unit,omitempty"`
	Object  string `json:"object,omitempty"`
	Path    string `json:"path,omitempty"`
	File    string `json:"file,omitempty"`
	Message string `json:"message"`
	Times   int    `json:"times"` // how many are missing
}

func (s Audit) json(w io.Writer) error { return indented(w, s.Document()) }

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Document makes the JSON form.
func (s Audit) Document() Document {
	d := Document{
		APIVersion: "cli.truce.dev/v1", Kind: "Audit", Units: len(s.Survey.Units), Known: len(s.Findings.Known), Aside: s.Aside,
		Findings: []FindingJSON{}, Skipped: []SkippedJSON{}, Stale: []StaleJSON{}, Assumed: append([]string{}, s.Survey.Assumed...),
	}
	for _, u := range s.Survey.Units {
		d.Objects += len(u.Objects)
	}
	d.Errors, d.Warnings, d.Infos = countSeverities(s.Findings.New)
	for _, f := range s.Findings.New {
		d.Findings = append(d.Findings, newFinding(f, false, s.Fails(f)))
	}
	for _, f := range s.Findings.Known {
		d.Findings = append(d.Findings, newFinding(f, true, false))
	}
	for _, k := range s.Survey.Skipped {
		d.Skipped = append(d.Skipped, NewSkippedJSON(k))
	}
	for _, e := range s.Findings.Stale {
		d.Stale = append(d.Stale, newStale(e))
	}
	return d
}

func countSeverities(findings []rules.Finding) (errors, warnings, infos int) {
	by := map[rules.Severity]int{}
	for _, f := range findings {
		by[f.Severity]++
	}
	return by[rules.Error], by[rules.Warning], by[rules.Info]
}

// NewFindingJSON is the form of a finding that no baseline knows, in whatever document it stands. It fails nothing.
func NewFindingJSON(f rules.Finding) FindingJSON { return newFinding(f, false, false) }

func newFinding(f rules.Finding, isKnown, fails bool) FindingJSON {
	out := FindingJSON{
		Rule: f.Rule, Severity: string(f.Severity), Unit: f.Unit, Path: fieldOf(f), Message: oneLine(f.Message), Remedy: oneLine(f.Remedy),
		Known: isKnown, Fails: fails, Aside: string(f.FormOnly), Fingerprint: baseline.Fingerprint(f),
	}
	if f.Object.Name != "" {
		object := ObjectJSON(f.Object)
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

func newPlace(p desired.Place) PlaceJSON {
	return PlaceJSON{File: p.File, Line: p.Line, Column: p.Column, Field: p.Field}
}

// NewSkippedJSON is the form of something that was not looked into.
func NewSkippedJSON(k discover.Skipped) SkippedJSON {
	return SkippedJSON{File: k.File, Line: k.Line, What: oneLine(k.What), Broken: k.Broken, Why: oneLine(k.Why), Reason: oneLine(cmp.Or(k.Reason, k.Why))}
}

func newStale(e baseline.Entry) StaleJSON {
	return StaleJSON{
		Rule: e.Rule, Unit: e.Unit, Object: e.Object, Path: e.Path, File: e.File, Message: oneLine(e.Message), Times: max(1, e.Times),
	}
}

// fieldOf is the printed path of a finding's field; empty for none.
func fieldOf(f rules.Finding) string {
	if len(f.Path) == 0 {
		return ""
	}
	return field.PathString(f.Path)
}

// placeText prints a place with all that is known of it.
func placeText(p desired.Place) string {
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
