package cli

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/truce-gitops/truce/internal/model/redact"
)

// cell is one entry of a table, with the colour that it may have.
type cell struct {
	text  string
	paint paint
}

func plainCells(texts ...string) []cell {
	out := make([]cell, len(texts))
	for i, s := range texts {
		out[i] = cell{text: s}
	}
	return out
}

// table is rows in columns, as kubectl prints them: three spaces between, nothing at the end of a line.
type table struct {
	indent string
	head   []cell // the columns' names; none for a table without
	bare   bool   // the head is not printed
	rows   [][]cell
	least  []int // widths of the columns, where the table goes on another one
	tight  bool  // two spaces between, for rows that are long
}

// columns sets the columns' names.
func (t *table) columns(head ...cell) { t.head = plainRow(head) }

// add takes a row.
func (t *table) add(row ...cell) { t.rows = append(t.rows, plainRow(row)) }

// plainRow drops in place what a terminal would take as a command, or would break the row: messages come from others.
func plainRow(row []cell) []cell {
	for i := range row {
		row[i].text = strings.ReplaceAll(redact.MaskText(row[i].text), "\n", " ")
	}
	return row
}

// printed are the rows that are printed, with the head.
func (t *table) printed() [][]cell {
	if t.head == nil || t.bare {
		return t.rows
	}
	return slices.Concat([][]cell{t.head}, t.rows)
}

func (t *table) print(w io.Writer, term terminal) error {
	widths := t.widths()
	for _, row := range t.printed() {
		if _, err := io.WriteString(w, t.indent+t.line(row, widths, term)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// widths are those of the columns. What a row that is shorter than the head, or else the first one, ends with goes on over the columns that it does not have.
func (t *table) widths() []int {
	widths := append([]int(nil), t.least...)
	whole := len(t.head)
	if whole == 0 && len(t.rows) > 0 {
		whole = len(t.rows[0])
	}
	for _, row := range t.printed() {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i == len(row)-1 && len(row) < whole {
				continue
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	return widths
}

const gap = 3

func (t *table) gap() int {
	if t.tight {
		return gap - 1
	}
	return gap
}

func (t *table) line(row []cell, widths []int, term terminal) string {
	for len(row) > 0 && row[len(row)-1].text == "" {
		row = row[:len(row)-1]
	}
	var b strings.Builder
	for i, c := range row {
		b.WriteString(term.in(c.paint, c.text))
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+t.gap()))
		}
	}
	return b.String()
}

// oneLine makes a message fit into a row.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
