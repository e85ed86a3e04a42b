package explain

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
)

// Complete lists the paths of the live object that begin as it was typed, with or without the first dot, up to the end of the next
// name.
func (s Subject) Complete(begun string) []string {
	dot := ""
	if !strings.HasPrefix(begun, ".") {
		dot = "."
	}
	var out []string
	w := newWalker(s, Every)
	w.leaves(map[string]any(s.Live), nil, func(at field.Pointer) {
		p := w.paths(at).name()
		for n := 1; n <= len(p); n++ {
			text := strings.TrimPrefix(field.PathString(p[:n]), dot)
			if strings.HasPrefix(text, begun) && len(text) > len(begun) {
				out = append(out, text)
				return
			}
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}
