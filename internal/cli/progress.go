package cli

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// startOver begins the line of a terminal again, without what it holds.
const startOver = "\r\x1b[K"

// progress prints on the standard error how one app proceeds: on a terminal in one line that moves, else in a line for
// each news.
type progress struct {
	program *program
	name    string
	last    string
	marks   [3]string // goes on, is done, has failed
}

func (p *program) progress(k app.Key) *progress {
	p.endLine()
	out := &progress{program: p, name: resourceName(k), marks: [3]string{"►", "✔", "✗"}}
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
	p.print(p.marks[0], s)
	if p.program.open = p.program.term.moving; !p.program.open {
		fmt.Fprintln(p.program.env.Err)
	}
}

func (p *progress) done(s string) { p.end(p.marks[1], s) }
func (p *progress) fail(s string) { p.end(p.marks[2], s) }

func (p *progress) end(mark, s string) {
	p.print(mark, s)
	p.program.open = false
	fmt.Fprintln(p.program.env.Err)
}

func (p *progress) print(mark, s string) {
	start := ""
	if p.program.term.moving {
		start = startOver
	}
	fmt.Fprintf(p.program.env.Err, "%s%s %s: %s", start, mark, p.name, redact.MaskText(s))
}

// endLine ends a line that is open, so that what is printed next begins a line of its own.
func (p *program) endLine() {
	if p.open {
		fmt.Fprintln(p.env.Err)
	}
	p.open = false
}

// clearLine removes the text of a line that is open.
func (p *program) clearLine() {
	if p.open {
		fmt.Fprint(p.env.Err, startOver)
	}
	p.open = false
}
