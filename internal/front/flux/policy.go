package flux

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
)

// policy lays what the custom resource says over the process's policy, and that over the defaults.
func (r *reading) policy(cr object.Object, spec KustomizationSpec, process app.Policy) app.Policy {
	p := app.Policy{
		Mode:        cmp.Or(word(r, cr, modeKey, app.Enforce, app.Observe), process.Mode, app.Enforce),
		Claims:      cmp.Or(word(r, cr, claimsKey, app.ClaimsCede, app.ClaimsReport, app.ClaimsOff), process.Claims, app.ClaimsCede),
		Pause:       cmp.Or(word(r, cr, pauseKey, app.PauseReport, app.PauseCorrect), process.Pause, app.PauseReport),
		Remediation: cmp.Or(process.Remediation, app.Remediate),
		Spacing:     process.Spacing,
	}
	block := r.remediation(cr, spec.Remediation)
	if block == nil {
		return p
	}
	p.Remediation, p.Spacing = app.ReportOnly, 0
	if block.Remediate != nil && *block.Remediate {
		p.Remediation = app.Remediate
	}
	if block.Remediate == nil && !r.about("spec.remediation") {
		r.note("remediation is set without remediate: true, so drift is reported and left alone")
	}
	if block.RemediationInterval != nil {
		p.Spacing = r.span("spec.remediation.remediationInterval", block.RemediationInterval.Duration)
	}
	return p
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

// remediation returns the block of the spec or of the annotation, nil if there is none. Both must say the same.
func (r *reading) remediation(cr object.Object, block *Remediation) *Remediation {
	text, there := cr.Annotation(remediateKey)
	if !there {
		return block
	}
	annotated := r.annotatedRemediation(text)
	if block != nil && annotated != nil && !same(*block, *annotated) {
		r.problem("annotation "+remediateKey, "says something else than spec.remediation; remove one of them")
	}
	return cmp.Or(block, annotated)
}

// annotatedRemediation reads true, false, or the block as YAML or JSON.
func (r *reading) annotatedRemediation(text string) *Remediation {
	switch v := r.yaml("annotation "+remediateKey, text).(type) {
	case bool:
		return &Remediation{Remediate: &v}
	case map[string]any:
		var in struct {
			Block *Remediation `json:"truce.dev/remediation"`
		}
		r.decode("annotation ", map[string]any{remediateKey: v}, &in)
		return in.Block
	}
	r.problem("annotation "+remediateKey, "want true, false, or what spec.remediation would hold, as YAML or JSON")
	return nil
}

func same(a, b Remediation) bool {
	yes := func(x Remediation) bool { return x.Remediate != nil && *x.Remediate }
	spacing := func(x Remediation) int64 {
		if x.RemediationInterval == nil {
			return 0
		}
		return int64(x.RemediationInterval.Duration)
	}
	return yes(a) == yes(b) && spacing(a) == spacing(b)
}

// known are the annotations of truce that a front reads.
var known = []string{modeKey, claimsKey, pauseKey, ignoreKey, remediateKey, approveKey, revisionKey}

// annotations refuses what truce means to read one day, and tells of what may be a slip of the pen.
func (r *reading) annotations(cr object.Object) {
	all, _ := cr.At("metadata", "annotations").(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch {
		case key == additionsKey:
			r.lacks("annotation "+key, "additions are neither looked for nor removed")
		case strings.HasPrefix(key, ours) && !slices.Contains(known, key):
			r.note("annotation %s has no effect: not one of truce's", key)
		}
	}
}
