package argocd

import (
	"fmt"
	"regexp"

	"github.com/truce-gitops/truce/internal/model/app"
)

// sourceAt is one of the sources of an Application.
type sourceAt struct {
	applicationSource
	at   string            // its field
	dir  string            // of its files in the tree of all; empty for the only one
	refs map[string]string // the directories of the sources that have a ref, by that
}

// sources reads several sources. What is rendered of each is rendered by itself, and all of it is one desired state.
func (r *reading) sources(a *app.App, spec applicationSpec) {
	if isFieldSet(spec.SourceHydrator) {
		r.Unsupported("spec.sourceHydrator", "nothing is written to a repository; use source with the branch that holds the manifests")
	}
	refs, names := r.refs(spec.Sources), map[string]bool{}
	parts := make([]app.Part, 0, len(spec.Sources))
	for i, s := range spec.Sources {
		at := fmt.Sprintf("spec.sources[%d]", i)
		if s.Name != "" && names[s.Name] {
			r.Problem(at+".name", "%q is the name of another source", s.Name)
		}
		names[s.Name] = true
		parts = append(parts, r.part(*a, sourceAt{applicationSource: s.withoutEmpty(), at: at, dir: partDir(i), refs: refs}))
	}
	*a = a.WithParts(parts)
}

// partDir is the directory of a source in the tree of all, by its index.
func partDir(index int) string { return fmt.Sprintf("sources.%d", index) }

// part reads one of several sources.
func (r *reading) part(a app.App, s sourceAt) app.Part {
	p := app.Part{Source: sourceKey(a.Member, s.applicationSource), Field: s.at, Dir: s.dir, IsPackaged: s.Chart != ""}
	if s.Ref != "" && s.Path == "" && s.Chart == "" {
		r.unsupported(s.at, s.applicationSource)
		p.FilesOnly, p.Path = true, s.dir
		return p
	}
	a.Source = p.Source
	r.describe(&a, s)
	return p.As(a)
}

// nameForm is what Argo CD takes as a ref (util/argo of argo-cd, validateRepo).
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// refs are the directories of the sources that others read values of, by their ref.
func (r *reading) refs(all []applicationSource) map[string]string {
	out := map[string]string{}
	for i, s := range all {
		at := fmt.Sprintf("spec.sources[%d].ref", i)
		switch _, twice := out[s.Ref]; {
		case s.Ref == "":
			continue
		case !nameForm.MatchString(s.Ref):
			r.Problem(at, "%q is no name: want letters, digits, - and _", s.Ref)
		case twice:
			r.Problem(at, "%q is the ref of another source", s.Ref)
		case s.Chart != "":
			r.Problem(at, "values are not read out of a chart; want a repository with files")
		default:
			out[s.Ref] = partDir(i)
		}
	}
	return out
}
