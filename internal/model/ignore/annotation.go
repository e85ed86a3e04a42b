package ignore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// PointersAnnotation on Git's object names fields of that object as a comma separated list of JSON pointers (argo-cd PR #29616).
// Unlike there, it needs no sync option beside it.
const PointersAnnotation = "argocd.argoproj.io/ignore-differences-json-pointers"

// ownRule is the name of the rule that an object brings along.
const ownRule = "annotation " + PointersAnnotation

// On returns the rules that are about Git's object: these, and that of its own annotation. An annotation that cannot be read is an
// error, not an absent one: what it was meant to protect is not known.
func (rs Rules) On(desired object.Object) (Rules, error) {
	text, there := desired.Annotation(PointersAnnotation)
	if !there {
		return rs, nil
	}
	pointers, err := parseList(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ownRule, err)
	}
	return append(slices.Clip(rs), Rule{Pointers: pointers, Name: ownRule}), nil
}

func parseList(text string) ([]field.Pointer, error) {
	var out []field.Pointer
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		p, err := ParsePointer(word)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
