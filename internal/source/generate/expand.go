package generate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/source/recipe"
)

// labelled is an output of one directory, with the labels that its path gives.
type labelled struct {
	recipe.Output
	labels map[string]string
}

// expandPattern returns an output for each directory that the pattern of the recipe matches.
func expandPattern(p recipe.Recipe, inputs map[string]input) ([]labelled, error) {
	var out []labelled
	if p.Pattern == (recipe.Pattern{}) {
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
		values, ok := steps.Match(dir)
		if !ok {
			continue
		}
		made, err := outputsOf(p, values)
		if err != nil {
			return nil, fmt.Errorf("pathPattern: directory %s: %w", dir, err)
		}
		out, of = append(out, made...), append(of, slices.Repeat([]string{dir}, len(made))...)
		if len(out) > mostOutputs {
			return nil, fmt.Errorf("pathPattern: it makes more than %d artifacts", mostOutputs)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("pathPattern: no directory of source %s matches %s", p.Pattern.Alias, p.Pattern.Path)
	}
	return out, checkNames(out, of)
}

// outputsOf returns the outputs of one directory.
func outputsOf(p recipe.Recipe, values map[string]string) ([]labelled, error) {
	labels, err := labelsOf(values)
	if err != nil {
		return nil, err
	}
	var out []labelled
	for _, o := range p.Outputs {
		filled, err := o.Fill(values, labels)
		if err != nil {
			return nil, err
		}
		out = append(out, labelled{filled, labels})
	}
	return out, nil
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
