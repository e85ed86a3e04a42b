package generate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// pattern is a glob over paths: * and ? and [class] within a step, {a,b} for alternatives, ** for any number of steps.
type pattern struct {
	alternatives [][]string // steps
	prefix       []string   // the first steps, without any glob
}

const (
	globCharacters   = "*?[]{}"
	mostAlternatives = 64
	longestPattern   = 1024
)

func hasGlob(text string) bool { return strings.ContainsAny(text, globCharacters) }

// newPattern reads a pattern.
func newPattern(text string) (pattern, error) {
	clean := path.Clean("./" + text)
	if len(text) > longestPattern {
		return pattern{}, fmt.Errorf("the pattern is longer than %d bytes", longestPattern)
	}
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(text, "/") {
		return pattern{}, errors.New("the pattern leads out of the source")
	}
	var out pattern
	for step := range strings.SplitSeq(clean, "/") {
		if hasGlob(step) {
			break
		}
		out.prefix = append(out.prefix, step)
	}
	all, err := alternatives(clean)
	if err != nil {
		return pattern{}, err
	}
	for _, one := range all {
		steps := strings.Split(one, "/")
		for _, step := range steps {
			if _, err := path.Match(step, ""); err != nil {
				return pattern{}, fmt.Errorf("the pattern %.200q is malformed", text)
			}
		}
		out.alternatives = append(out.alternatives, steps)
	}
	return out, nil
}

// alternatives writes a pattern with {a,b} as several without.
func alternatives(text string) ([]string, error) {
	open := strings.IndexByte(text, '{')
	if open < 0 {
		if strings.ContainsRune(text, '}') {
			return nil, fmt.Errorf("the pattern %.200q has a } without a {", text)
		}
		return []string{text}, nil
	}
	end := strings.IndexByte(text[open:], '}')
	if end < 0 || strings.ContainsRune(text[open+1:open+end], '{') {
		return nil, fmt.Errorf("the pattern %.200q has a { that is not closed, or one within another", text)
	}
	rest, err := alternatives(text[open+end+1:])
	if err != nil {
		return nil, err
	}
	var out []string
	for choice := range strings.SplitSeq(text[open+1:open+end], ",") {
		for _, r := range rest {
			if out = append(out, text[:open]+choice+r); len(out) > mostAlternatives {
				return nil, fmt.Errorf("the pattern %.200q has more than %d alternatives", text, mostAlternatives)
			}
		}
	}
	return out, nil
}

// literal is the directory before the first step with a glob; "." for the top.
func (p pattern) literal() string { return path.Join(append([]string{"."}, p.prefix...)...) }

// matches reports whether the whole path matches.
func (p pattern) matches(name string) bool {
	steps := strings.Split(name, "/")
	return slices.ContainsFunc(p.alternatives, func(one []string) bool { return matchSteps(one, steps) })
}

// covers reports whether a path below base matches, or a directory that it is in.
func (p pattern) covers(name, base string) bool {
	for at := name; at != "." && at != base; at = path.Dir(at) {
		if p.matches(at) {
			return true
		}
	}
	return false
}

// matchSteps matches step by step. reach[j] says that the steps of the pattern so far match the first j steps of the path.
func matchSteps(of, steps []string) bool {
	reach := make([]bool, len(steps)+1)
	reach[0] = true
	for _, step := range of {
		next := make([]bool, len(steps)+1)
		for j := range reach {
			switch {
			case step == "**":
				next[j] = reach[j] || j > 0 && next[j-1]
			case j > 0 && reach[j-1]:
				next[j], _ = path.Match(step, steps[j-1])
			}
		}
		reach = next
	}
	return reach[len(steps)]
}

// exclusions are the patterns of what is not copied.
type exclusions []exclusion

type exclusion struct {
	pattern
	name bool // it is about a name at any depth
}

func newExclusions(list []string) (exclusions, error) {
	var out exclusions
	for _, text := range list {
		p, err := newPattern(text)
		if err != nil {
			return nil, fmt.Errorf("exclude: %w", err)
		}
		out = append(out, exclusion{p, !strings.Contains(text, "/")})
	}
	return out, nil
}

// file reports whether a file, or a directory below base that it is in, is excluded: by its path from the top of the source, by that from base, or
// by its name.
func (x exclusions) file(name, base string) bool {
	if len(x) == 0 {
		return false
	}
	for at := name; at != "." && at != base; at = path.Dir(at) {
		for _, e := range x {
			if e.matches(at) || e.matches(relative(at, base)) || e.name && e.matches(path.Base(at)) {
				return true
			}
		}
	}
	return false
}
