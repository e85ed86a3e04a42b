package source

import (
	"regexp"
	"strings"
)

var (
	hashForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	// rangeForm distinguishes ranges of versions from names: no reference holds a space or one of ~^*.
	rangeForm = regexp.MustCompile(`^[<>=~^!]|\*|\.x$|\.X$|\|\||, | - `)
)

// ParseRef reads a revision as people write it where one field takes any: HEAD (or nothing), a commit, a full reference name, a range of
// versions such as 1.2.* or >=1.0.0, and else a branch or a tag, as spec.source.targetRevision of an Argo CD Application.
func ParseRef(text string) Ref {
	switch {
	case text == "" || text == "HEAD":
		return Ref{Name: "HEAD"}
	case hashForm.MatchString(strings.ToLower(text)):
		return Ref{Commit: text}
	case strings.HasPrefix(text, "refs/"):
		return Ref{Name: text}
	case rangeForm.MatchString(text):
		return Ref{SemVer: text}
	}
	return Ref{Any: text}
}

// At is the Spec at a revision in the form of ParseRef; of a chart, the version or a range of versions.
func (s Spec) At(revision string) Spec {
	if s.Kind == HelmRepository && s.Chart.Name != "" {
		s.Chart.Version = revision
		return s
	}
	s.Ref = ParseRef(revision)
	if s.Kind == OCI {
		s.Ref.Any = strings.ReplaceAll(s.Ref.Any, "+", "_") // as Helm names tags, which know no plus
	}
	return s
}
