package rules

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// InRepository are the findings as they can be looked up in the repository: what stands in a remote base is placed at the entry of the
// kustomization that names the base, and the message says which file of the base is meant. Those that are not about the part that was asked for are left
// out.
func InRepository(s discover.Discovery, all []Finding) []Finding {
	h := relocation{survey: s, known: map[[2]string]desired.Place{}}
	out := slices.Clone(all)
	for i := range out {
		h.place(&out[i])
	}
	slices.SortStableFunc(out, inOrder)
	return findingsOfPart(s, withoutRepeats(out))
}

// relocation is one Here.
type relocation struct {
	survey discover.Discovery
	known  map[[2]string]desired.Place // by unit and file
}

func (h *relocation) place(f *Finding) {
	var others []desired.Place
	var texts []string
	for i, p := range append([]desired.Place{f.Place}, f.Others...) {
		at := h.entry(f.Unit, p.File)
		if at.File == "" {
			at = p
		} else {
			at.Means = p.Means
			texts = append(texts, upstream.DisplayName(p.File, p.Line, p.Column))
		}
		switch {
		case i == 0:
			f.Place = at
		case at == p, at != f.Place && !slices.Contains(others, at):
			others = append(others, at)
		}
	}
	f.Others = others
	if len(texts) > 0 {
		f.Message += "; it stands in " + strings.Join(texts, ", and ")
	}
}

// entry is where a unit names the remote base of a file; without a unit the first that reads the file.
func (h *relocation) entry(unit, file string) desired.Place {
	if upstream.RepositoryRoot(file) == "" {
		return desired.Place{}
	}
	key := [2]string{unit, file}
	if at, known := h.known[key]; known {
		return at
	}
	var at desired.Place
	for _, u := range h.survey.Units {
		if (unit == "" || u.Name() == unit) && slices.Contains(u.Reads, file) {
			at = u.Entry(h.survey.Files, file)
			break
		}
	}
	h.known[key] = at
	return at
}
