package output

import (
	"fmt"
	"io"
	"strings"
)

// Difference is a field that is not as Git names it, or an object that is not there, in words.
type Difference struct {
	Object, Place            string // Place is where in Git; empty for unknown
	Field, Git, Live, Writer string // Field is empty for a whole object
	Verdict                  string // what would become of it
}

const rowsHead = "| field | Git | live | set by | |\n|---|---|---|---|---|\n"

// Differences writes Markdown for a comment: sum is a sentence for all of them, and each object has a table. It is cut as findings are.
func Differences(w io.Writer, sum string, all []Difference) error {
	p := newMarkdownPage("truce diff", oneLine(sum))
	var blocks []markdownBlock
	for _, d := range all {
		title := codeSpan(d.Object)
		if d.Place != "" {
			title += " " + escapeMarkdown(d.Place)
		}
		if n := len(blocks); n == 0 || blocks[n-1].title != title {
			blocks = append(blocks, markdownBlock{title: title, head: rowsHead})
		}
		row := []string{codeSpan(d.Field), codeSpan(d.Git), codeSpan(d.Live), escapeMarkdown(d.Writer), escapeMarkdown(d.Verdict)}
		if d.Field == "" {
			row = []string{"the object", "", "", escapeMarkdown(d.Writer), escapeMarkdown(d.Verdict)}
		}
		last := &blocks[len(blocks)-1]
		last.rows = append(last.rows, "| "+strings.Join(row, " | ")+" |\n")
	}
	for _, b := range blocks {
		p.add(b)
	}
	return p.write(w)
}

func newMarkdownPage(command, sum string) *markdownPage {
	p := &markdownPage{command: command}
	fmt.Fprintf(&p.b, "<!-- %s -->\n### %s\n\n%s.\n", command, command, sum)
	return p
}

// write ends the page: with what was cut off, if anything was.
func (p *markdownPage) write(w io.Writer) error {
	if p.cut > 0 {
		fmt.Fprintf(&p.b, "\n**%s not shown: a comment holds %d characters.** Run `%s` to see all.\n",
			pluralize(p.cut, "line is", "lines are"), mostMarkdown, p.command)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}
