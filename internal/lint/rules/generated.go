package rules

import (
	"bytes"
	"regexp"
	"slices"
	"sync"

	"github.com/truce-gitops/truce/internal/render"
)

// formRules are about how a value is written. In a file that a program has made it cannot be written otherwise by hand.
var formRules = []string{"hpa-bounds", "null-value", "uncanonical-quantity"}

// byProgram is what programs write into a comment at the head of what they make. It is compiled when it is first used: every process of truce has this package.
var byProgram = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^\s*(?:#|//).*(?:do not edit|code generated|auto-?generated|automatically generated|generated (?:by|from|with|using)|this (?:file|manifest) (?:is|was) generated)|^# Source: \S+/templates/`)
})

const (
	headBytes  = 4 << 10 // in which a program says that it made the file
	bundleSize = 10      // documents, from which on a file is the release of a project rather than written by hand
)

// isGenerated reports whether a program has made the file: it says so at its head, or it holds as many documents as only releases do.
func (f *files) isGenerated(name string) bool {
	if got, known := f.generated[name]; known {
		return got
	}
	data, err := render.ReadFile(f.survey.Files, name, maxFile)
	got := err == nil && (byProgram().Match(data[:min(headBytes, len(data))]) || bytes.Count(data, []byte("\n---")) >= bundleSize)
	if f.generated == nil {
		f.generated = map[string]bool{}
	}
	f.generated[name] = got
	return got
}

// Weighty leaves out the findings that are aside, and says how many these are.
func Weighty(all []Finding) (weighty []Finding, aside int) {
	weighty = slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.FormOnly != "" })
	return weighty, len(all) - len(weighty)
}
