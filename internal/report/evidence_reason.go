package report

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// EvidenceReason returns the reason that the text of an Evidence gives for the finding's field; empty where it has none, or of another
// value of Git's. The live value may be another one by now.
func (f Finding) EvidenceReason(evidence string, id object.ID) string {
	head := id.String() + " " + field.PathString(f.Path) + ": "
	if len(f.Path) == 0 {
		head = id.String() + " is missing"
	}
	for before, rest, found := strings.Cut(evidence, head); found; before, rest, found = strings.Cut(rest, head) {
		if before != "" && !strings.HasSuffix(before, "; ") {
			continue
		}
		if reason := reasonIn(rest, id, f); reason != "" {
			return reason
		}
	}
	return ""
}

// reasonIn reads on where a sentence has named its field, to the end of what it says of the next try.
func reasonIn(text string, id object.ID, f Finding) string {
	closing := ": "
	if len(f.Path) > 0 {
		closing = "): "
		if text = behindValues(text, FormatValue(f.Desired), redact.IsSecret(id)); text == "" {
			return ""
		}
	}
	_, reason, _ := strings.Cut(text, closing)
	_, end := decide.CorrectionDue(reason)
	return reason[:end]
}

// behindValues is what follows Git's value and the live one; empty where Git's is another one. A mask is of the process that made it.
func behindValues(text, git string, masked bool) string {
	const vs, live = " (Git) vs ", " (live, set by "
	rest, ok := strings.CutPrefix(text, git+vs)
	if !ok && masked {
		rest, ok = strings.CutPrefix(skipValue(text), vs)
	}
	if !ok {
		return ""
	}
	if rest, ok = strings.CutPrefix(skipValue(rest), live); !ok {
		return ""
	}
	return rest
}

// skipValue skips a value as Show prints it. What such a value holds is never read as words of ours.
func skipValue(text string) string {
	if rest, none := strings.CutPrefix(text, FormatValue(nil)); none {
		return rest
	}
	d := json.NewDecoder(strings.NewReader(text))
	var value any
	if err := d.Decode(&value); err == nil && d.InputOffset() <= maxShown {
		return text[d.InputOffset():]
	}
	_, rest, _ := strings.Cut(text[min(len(text), maxShown-utf8.UTFMax):], "…") // it was cut there
	return rest
}
