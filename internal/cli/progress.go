package cli

import (
	"fmt"
	"io"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// progress prints on the standard error how one app proceeds: on a terminal in one line that moves, else in a line for
// each news.
type progress struct {
	w      io.Writer
	name   string
	last   string
	moving bool
	marks  [3]string // goes on, is done, has failed
}

func (p *program) progress(k app.Key) *progress {
	out := &progress{w: p.env.Err, name: resourceName(k), moving: p.term.moving, marks: [3]string{"►", "✔", "✗"}}
	if !p.unicode() {
		out.marks = [3]string{">", "ok", "!!"}
	}
	return out
}

func (p *progress) say(s string) {
	s = oneLine(s, 100)
	if s == "" || s == p.last {
		return
	}
	p.last = s
	p.line(p.marks[0], s, "")
	if !p.moving {
		fmt.Fprintln(p.w)
	}
}

func (p *progress) done(s string) { p.line(p.marks[1], s, "\n") }
func (p *progress) fail(s string) { p.line(p.marks[2], s, "\n") }

func (p *progress) line(mark, s, end string) {
	start := ""
	if p.moving {
		start = "\r\x1b[K"
	}
	fmt.Fprintf(p.w, "%s%s %s: %s%s", start, mark, p.name, redact.MaskText(s), end)
}
