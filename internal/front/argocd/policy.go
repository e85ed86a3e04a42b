package argocd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
)

// policy lays what the custom resource says over the process's policy, and that over the defaults. What is done about drift is said
// by spec.syncPolicy.
func (r *reading) policy(cr object.Object, process app.Policy) app.Policy {
	return app.Policy{
		Mode:    cmp.Or(word(r, cr, modeKey, app.Enforce, app.Observe), process.Mode, app.Enforce),
		Claims:  cmp.Or(word(r, cr, claimsKey, app.ClaimsCede, app.ClaimsReport, app.ClaimsOff), process.Claims, app.ClaimsCede),
		Pause:   cmp.Or(word(r, cr, pauseKey, app.PauseReport, app.PauseCorrect), process.Pause, app.PauseReport),
		Spacing: process.Spacing,
	}
}

// word reads an annotation that must be one of a few words, "" if it is not there or none of them.
func word[T ~string](r *reading, cr object.Object, key string, words ...T) T {
	text, there := cr.Annotation(key)
	if !there || slices.Contains(words, T(text)) {
		return T(text)
	}
	list := strings.Trim(fmt.Sprint(words), "[]")
	r.problem("annotation "+key, "want one of %s, not %q", strings.ReplaceAll(list, " ", ", "), text)
	return ""
}

// annotationsRead are the annotations of truce that this front reads.
var annotationsRead = []string{modeKey, claimsKey, pauseKey, approveKey}

// annotations tells of what may be a slip of the pen.
func (r *reading) annotations(cr object.Object) {
	all, _ := cr.At("metadata", "annotations").(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(key, ours) && !slices.Contains(annotationsRead, key) {
			r.note("annotation %s has no effect on an Application", key)
		}
	}
}
