package generate

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// labelled is an output of one directory, with the labels that its path gives.
type labelled struct {
	Output
	labels map[string]string
}

// expand returns an output for each directory that the pattern of the plan matches.
func (p Plan) expand(inputs map[string]input) ([]labelled, error) {
	var out []labelled
	if p.Pattern == (Pattern{}) {
		for _, o := range p.Outputs {
			out = append(out, labelled{Output: o})
		}
		return out, checkNames(out, nil)
	}
	steps, err := p.Pattern.Steps()
	if err != nil {
		return nil, err
	}
	in, ok := inputs[p.Pattern.Alias]
	if !ok {
		return nil, fmt.Errorf("pathPattern: there is no source with the alias %s", p.Pattern.Alias)
	}
	var of []string
	for _, dir := range in.directories() {
		values, ok := steps.match(dir)
		if !ok {
			continue
		}
		labels, err := labelsOf(values)
		if err != nil {
			return nil, fmt.Errorf("pathPattern: directory %s: %w", dir, err)
		}
		for _, o := range p.Outputs {
			filled, err := o.fill(values, labels)
			if err != nil {
				return nil, fmt.Errorf("pathPattern: directory %s: %w", dir, err)
			}
			of = append(of, dir)
			if out = append(out, labelled{filled, labels}); len(out) > mostOutputs {
				return nil, fmt.Errorf("pathPattern: it makes more than %d artifacts", mostOutputs)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("pathPattern: no directory of source %s matches %s", p.Pattern.Alias, p.Pattern.Path)
	}
	return out, checkNames(out, of)
}

// checkNames makes sure that each artifact has a name of its own. of has the directories that they are of.
func checkNames(all []labelled, of []string) error {
	seen := map[string]int{}
	for i, o := range all {
		if why := validation.IsDNS1123Subdomain(o.Name); len(why) > 0 {
			return fmt.Errorf("artifact name %.300q: %s", o.Name, why[0])
		}
		before, twice := seen[o.Name]
		switch {
		case twice && of != nil:
			return fmt.Errorf("pathPattern: the directories %s and %s both make the artifact %s", of[before], of[i], o.Name)
		case twice:
			return fmt.Errorf("two artifacts have the name %s", o.Name)
		}
		seen[o.Name] = i
	}
	return nil
}

// directories are those of a source, sorted.
func (in input) directories() []string {
	all := map[string]bool{}
	for _, e := range in.entries {
		for dir := path.Dir(e.Path); dir != "." && !all[dir]; dir = path.Dir(dir) {
			all[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

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

// match returns what stands for each name in a path; false where it does not match.
func (s Steps) match(dir string) (map[string]string, bool) {
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

// labelsOf are the labels of an artifact: what stands for each name, in lower case.
func labelsOf(values map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := strings.ToLower(values[name])
		if why := content.IsLabelValue(value); len(why) > 0 {
			return nil, fmt.Errorf("%.100q, which stands for {%s}, is no value of a label: %s", values[name], name, why[0])
		}
		out[name] = value
	}
	return out, nil
}

// fill replaces the names in an output: as they are in paths, in lower case in its name.
func (o Output) fill(values, labels map[string]string) (Output, error) {
	var err error
	if o.Name, err = Fill(o.Name, labels); err != nil {
		return o, err
	}
	o.Copies = slices.Clone(o.Copies)
	for i := range o.Copies {
		op := &o.Copies[i]
		if op.From, err = Fill(op.From, values); err != nil {
			return o, err
		}
		if op.To, err = Fill(op.To, values); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Fill replaces {name} by its value. A name without one is an error.
func Fill(text string, values map[string]string) (string, error) {
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
