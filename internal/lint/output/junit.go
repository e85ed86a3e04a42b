package output

import (
	"cmp"
	"encoding/xml"
	"io"
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
)

// The form that Jenkins, GitLab and others read: a suite for each app or root, a case for each finding, and one for a unit without
// any. (There is no standard; this is what testmoapp/junitxml has gathered.)
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string     `xml:"name,attr"`
		Class   string     `xml:"classname,attr"`
		File    string     `xml:"file,attr,omitempty"`
		Line    int        `xml:"line,attr,omitempty"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Skipped *junitText `xml:"skipped"`
		Out     string     `xml:"system-out,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

const (
	between    = "between several apps" // the suite of findings that are in no unit
	notLooked  = "not looked into"
	notMatched = "baseline"
)

func (s Audit) junit(w io.Writer) error {
	out := junitSuites{Name: "truce audit"}
	for _, name := range s.suites() {
		out.add(name, s.cases(name))
	}
	var left, gone []junitCase
	for _, k := range s.Left() {
		left = append(left, skippedCase(k))
	}
	for _, e := range s.Findings.Stale {
		gone = append(gone, junitCase{Name: e.Rule + " " + cmp.Or(e.Object, e.Unit, e.File), Class: notMatched, Out: staleText(e)})
	}
	out.add(notLooked, left)
	out.add(notMatched, gone)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// suites names the units, and what else a finding names.
func (s Audit) suites() []string {
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			out, seen[name] = append(out, name), true
		}
	}
	for _, u := range s.Survey.Units {
		add(u.Name())
	}
	for _, f := range slices.Concat(s.Findings.New, s.Findings.Known) {
		add(f.Unit)
	}
	return out
}

func (s Audit) cases(unit string) []junitCase {
	var out []junitCase
	class := cmp.Or(oneLine(unit), between)
	for _, f := range s.Findings.New {
		if f.Unit != unit {
			continue
		}
		c := s.caseOf(f, class)
		text := junitText{Message: oneLine(f.Message), Type: string(f.Severity), Text: s.detailsOf(f)}
		if s.Fails(f) {
			c.Failure = &text
		} else {
			c.Out = string(f.Severity) + ": " + text.Message + "\n" + text.Text
		}
		out = append(out, c)
	}
	for _, f := range s.Findings.Known {
		if f.Unit != unit {
			continue
		}
		c := s.caseOf(f, class)
		c.Skipped = &junitText{Message: "known by the baseline: " + oneLine(f.Message), Text: s.detailsOf(f)}
		out = append(out, c)
	}
	if len(out) == 0 {
		out = append(out, junitCase{Name: "no findings", Class: class})
	}
	return out
}

func (s Audit) caseOf(f rules.Finding, class string) junitCase {
	p := s.place(f)
	name := f.Rule
	if about := findingTitle(f); about != "" {
		name += ": " + about
	}
	return junitCase{Name: name, Class: class, File: p.File, Line: p.Line}
}

// detailsOf returns the text below the message.
func (s Audit) detailsOf(f rules.Finding) string {
	out := placeText(s.place(f))
	for _, p := range f.Others {
		out += "\nalso " + placeText(p)
	}
	return joinTexts("\n", out, oneLine(f.Remedy))
}

func skippedCase(k discover.Skipped) junitCase {
	out := junitCase{Name: oneLine(cmp.Or(k.What, k.File)), Class: notLooked, File: k.File, Line: k.Line}
	text := &junitText{Message: skippedText(k)}
	if k.Broken {
		out.Error = text
	} else {
		out.Skipped = text
	}
	return out
}

// add adds a suite and counts its cases; one without any is left out.
func (all *junitSuites) add(name string, cases []junitCase) {
	if len(cases) == 0 {
		return
	}
	s := junitSuite{Name: cmp.Or(oneLine(name), between), Cases: cases, Tests: len(cases)}
	for _, c := range cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	all.Suites = append(all.Suites, s)
	all.Tests += s.Tests
	all.Failures += s.Failures
	all.Errors += s.Errors
	all.Skipped += s.Skipped
}
