package cli

import (
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/report"
)

// terminal says what the two streams can show.
type terminal struct {
	colour       bool // on the standard output
	colourErrors bool // on the standard error
	moving       bool // lines on the standard error may be written over
}

func newTerminal(env Environment) terminal {
	plain := env.Getenv("NO_COLOR") != "" || env.Getenv("TERM") == "dumb" // https://no-color.org
	return terminal{
		colour:       isTerminal(env.Out) && !plain,
		colourErrors: isTerminal(env.Err) && !plain,
		moving:       isTerminal(env.Err) && env.Getenv("TERM") != "dumb",
	}
}

// errors is what the standard error shows.
func (t terminal) errors() terminal {
	t.colour = t.colourErrors
	return t
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// paint is an SGR sequence of ECMA-48.
type paint string

const (
	bold   paint = "1"
	faint  paint = "2"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
	cyan   paint = "36"
)

func (t terminal) in(p paint, s string) string {
	if !t.colour || s == "" || p == "" {
		return s
	}
	return "\x1b[" + string(p) + "m" + s + "\x1b[0m"
}

func (t terminal) red(s string) string { return t.in(red, s) }

// The colours of words; one that is not here has none.
var (
	paintSync    = map[report.Sync]paint{report.Synced: green, report.OutOfSync: yellow, report.Unknown: faint}
	paintHealth  = map[health.Code]paint{health.Healthy: green, health.Degraded: red, health.Missing: red, health.Progressing: cyan, health.Unknown: faint, health.Suspended: faint}
	paintVerdict = map[decide.Verdict]paint{decide.Correct: yellow, decide.Cede: cyan, decide.Contested: red}
)

// unicode reports whether the locale takes more than ASCII.
func (p *program) unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // the order of locale(7)
		if v := p.env.Getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
