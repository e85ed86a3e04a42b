package recipe

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Steps is a Pattern that was read: a regular expression with a group for each name.
type Steps struct{ form *regexp.Regexp }

var (
	captureForm = regexp.MustCompile(`\{([^{}]*)\}`)
	nameForm    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Steps reads the pattern.
func (p Pattern) Steps() (Steps, error) {
	var form strings.Builder
	form.WriteString("^")
	at := 0
	seen := map[string]bool{}
	for _, m := range captureForm.FindAllStringSubmatchIndex(p.Path, -1) {
		name := p.Path[m[2]:m[3]]
		switch {
		case !nameForm.MatchString(name):
			return Steps{}, fmt.Errorf("pathPattern: {%.100s} is no name of letters, digits and _", name)
		case seen[name]:
			return Steps{}, fmt.Errorf("pathPattern: {%.100s} is there twice", name)
		}
		seen[name] = true
		form.WriteString(regexp.QuoteMeta(p.Path[at:m[0]]) + "(?P<" + name + ">[^/]+)")
		at = m[1]
	}
	rest := captureForm.ReplaceAllString(p.Path, "")
	if strings.ContainsAny(rest, "{}") {
		return Steps{}, errors.New("pathPattern: a { or } stands alone")
	}
	form.WriteString(regexp.QuoteMeta(p.Path[at:]) + "$")
	compiled, err := regexp.Compile(form.String())
	if err != nil {
		return Steps{}, errors.New("pathPattern: it cannot be read")
	}
	return Steps{compiled}, nil
}

// Names are those of the pattern.
func (s Steps) Names() []string { return s.form.SubexpNames()[1:] }

// Match returns what stands for each name in a path; false where it does not match.
func (s Steps) Match(dir string) (map[string]string, bool) {
	found := s.form.FindStringSubmatch(dir)
	if found == nil {
		return nil, false
	}
	out := map[string]string{}
	for i, name := range s.Names() {
		out[name] = found[i+1]
	}
	return out, true
}

// Fill replaces the names in an output: as they are in paths, in lower case in its name.
func (o Output) Fill(values, labels map[string]string) (Output, error) {
	var err error
	if o.Name, err = FillNames(o.Name, labels); err != nil {
		return o, err
	}
	if o.Inputs.Path, err = FillNames(o.Inputs.Path, values); err != nil {
		return o, err
	}
	o.Copies = slices.Clone(o.Copies)
	for i := range o.Copies {
		op := &o.Copies[i]
		if op.From, err = FillNames(op.From, values); err != nil {
			return o, err
		}
		if op.To, err = FillNames(op.To, values); err != nil {
			return o, err
		}
	}
	return o, nil
}

// FillNames replaces {name} by its value. A name without one is an error.
func FillNames(text string, values map[string]string) (string, error) {
	var unknown error
	out := captureForm.ReplaceAllStringFunc(text, func(found string) string {
		value, ok := values[found[1:len(found)-1]]
		if !ok {
			unknown = fmt.Errorf("%.100s is no name of pathPattern", found)
		}
		return value
	})
	return out, unknown
}
