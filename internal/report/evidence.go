package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
)

// Evidence describes why fields are contested: for each its path, both values, who sets the other one, how often since when it was put back, and
// when the next try is.
type Evidence struct {
	Text  string // empty where no field is contested
	alike *regexp.Regexp
}

// Contested gathers the evidence of an app's contested fields. Of more than most, the others are counted.
func (r Report) Contested(most int) Evidence {
	var texts, patterns []string
	n := 0
	for _, o := range r.Objects {
		for _, f := range o.Findings {
			if f.Verdict != decide.Contested {
				continue
			}
			if n++; n > most {
				continue
			}
			text := f.Sentence(o.ID)
			texts, patterns = append(texts, text), append(patterns, butLive(text, FormatValue(f.Live)))
		}
	}
	if n == 0 {
		return Evidence{}
	}
	var rest string
	if n > most {
		rest = fmt.Sprintf("; and %d more", n-most)
	}
	e := Evidence{Text: strings.Join(texts, "; ") + rest}
	if alike, err := regexp.Compile("^" + strings.Join(patterns, "; ") + regexp.QuoteMeta(rest) + "$"); err == nil { // else each observation is reported
		e.alike = alike
	}
	return e
}

// butLive matches a sentence with any live value.
func butLive(text, live string) string {
	mark := " vs " + live + " (live, "
	before, after, ok := strings.Cut(text, mark)
	if !ok {
		return regexp.QuoteMeta(text)
	}
	return regexp.QuoteMeta(before+" vs ") + ".*" + regexp.QuoteMeta(" (live, "+after)
}

// TextUnlessSame returns the text that was reported before if only live values have changed since: a status is not written each time that an opponent
// thinks of another value.
func (e Evidence) TextUnlessSame(before string) string {
	if e.alike != nil && e.alike.MatchString(before) {
		return before
	}
	return e.Text
}
