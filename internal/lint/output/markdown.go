package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/render/desired"
)

const (
	mostMarkdown = 65_536 // GitHub's limit of a comment, in characters; bytes are counted, of which there are never fewer
	rest         = 300    // of these, for the sentence that says what was cut off
	mostAlike    = 3      // rows of what was left out for one reason
	longList     = 10     // rows, from which on a list is folded
)

// severityMarks are how a severity looks in a comment.
var severityMarks = map[rules.Severity]string{rules.Error: "🔴 error", rules.Warning: "🟡 warning", rules.Info: "🔵 hint"}

// markdownPage collects Markdown until there is no room.
type markdownPage struct {
	command string // that says all
	b       strings.Builder
	cut     int // rows that had none
}

// markdownBlock is a list with its head; rows that have no room are counted, and the list still ends well.
type markdownBlock struct {
	title, head string
	rows        []string
}

func (s Audit) markdown(w io.Writer) error {
	p := newMarkdownPage("truce audit", s.sum())
	for _, b := range s.byFile() {
		p.add(b)
	}
	p.add(s.knownBlock())
	p.add(s.staleBlock())
	p.add(s.skippedBlock())
	p.add(s.assumedBlock())
	return p.write(w)
}

// add writes a block; whole, or as many rows as there is room for.
func (p *markdownPage) add(b markdownBlock) {
	if len(b.rows) == 0 {
		return
	}
	open, closed := "\n#### "+b.title+"\n\n", ""
	if len(b.rows) > longList {
		open = "\n<details><summary><b>" + b.title + "</b>: " + fmt.Sprint(len(b.rows)) + "</summary>\n\n"
		closed = "\n</details>\n"
	}
	open += b.head
	room := mostMarkdown - rest - p.b.Len() - len(open) - len(closed)
	n := 0
	for n < len(b.rows) && len(b.rows[n]) <= room {
		room -= len(b.rows[n])
		n++
	}
	p.cut += len(b.rows) - n
	if n > 0 {
		p.b.WriteString(open + strings.Join(b.rows[:n], "") + closed)
	}
}

const tableHead = "| | where | rule | what is wrong | what to do |\n|---|---|---|---|---|\n"

// byFile makes a block of each file, in the order of places.
func (s Audit) byFile() []markdownBlock {
	var out []markdownBlock
	at := map[string]int{}
	for _, f := range s.Findings.New {
		p := s.place(f)
		i, ok := at[p.File]
		if !ok {
			i, at[p.File] = len(out), len(out)
			title := "In no file"
			if p.File != "" {
				title = codeSpan(p.File)
			}
			out = append(out, markdownBlock{title: title, head: tableHead})
		}
		out[i].rows = append(out[i].rows, findingRow(f, p))
	}
	return out
}

func findingRow(f rules.Finding, p desired.Place) string {
	mark := severityMarks[f.Severity]
	if mark == "" {
		mark = severityMarks[rules.Warning]
	}
	line := ""
	switch {
	case p.File == "":
		line = escapeMarkdown(p.Field)
	case p.Line > 0:
		line = fmt.Sprintf("line %d", p.Line)
	}
	text := escapeMarkdown(f.Message)
	if about := findingTitle(f); about != "" {
		text = codeSpan(about) + "<br>" + text
	}
	for _, o := range f.Others {
		text += "<br>also " + escapeMarkdown(placeText(o))
	}
	return "| " + strings.Join([]string{mark, line, codeSpan(f.Rule), text, escapeMarkdown(f.Remedy)}, " | ") + " |\n"
}

func (s Audit) knownBlock() markdownBlock {
	b := markdownBlock{title: "Known by the baseline"}
	for _, f := range s.Findings.Known {
		b.rows = append(b.rows, fmt.Sprintf("- %s %s: %s\n", codeSpan(f.Rule), escapeMarkdown(placeText(s.place(f))), escapeMarkdown(f.Message)))
	}
	return b
}

func (s Audit) staleBlock() markdownBlock {
	b := markdownBlock{title: "No longer found"}
	for _, e := range s.Findings.Stale {
		b.rows = append(b.rows, "- "+escapeMarkdown(staleText(e))+"\n")
	}
	return b
}

func (s Audit) skippedBlock() markdownBlock {
	b := markdownBlock{title: "Not looked into"}
	for _, g := range discover.Grouped(s.Left()) {
		for i, k := range g.All {
			if i == mostAlike && !k.Broken {
				b.rows = append(b.rows, fmt.Sprintf("- and %d more for the same reason\n", len(g.All)-i))
				break
			}
			at := escapeMarkdown(placeText(desired.Place{File: k.File, Line: k.Line}))
			b.rows = append(b.rows, "- "+joinTexts(": ", at, escapeMarkdown(skippedText(k)))+"\n")
		}
	}
	return b
}

func (s Audit) assumedBlock() markdownBlock {
	b := markdownBlock{title: "Assumed"}
	for _, a := range s.Survey.Assumed {
		b.rows = append(b.rows, "- "+escapeMarkdown(a)+"\n")
	}
	return b
}

// markup is what text from elsewhere could mean in a cell of a table: each is said in another way. An empty comment keeps a name after @
// from being printed, as it keeps a number after # from being linked.
var markup = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "\\", "&#92;", "~", "&#126;",
	"@", "@<!-- -->", "#", "#<!-- -->",
)

func escapeMarkdown(text string) string { return markup.Replace(oneLine(text)) }

// codeSpan sets a name as code, in which nothing but its end means anything.
func codeSpan(text string) string {
	return "<code>" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;",
		"\\", "&#92;", "~", "&#126;").Replace(oneLine(text)) + "</code>"
}
