package cli

import (
	"fmt"
	"strings"
	"time"
)

// sample is the value of a field from a moment on.
type sampleOf[T any] struct {
	at    time.Time
	value T
	by    string // who set it, by the object's managedFields
}

type sample = sampleOf[int64]

// chartWidth is the number of columns of a chart.
const chartWidth = 60

// drawChart draws values over time: a column is full up to the least value that held in its span, and shaded up to the greatest.
// Git's value has a mark. Samples are in the order of time, the first at the beginning.
func drawChart(samples []sample, end time.Time, git int64) []string {
	if len(samples) == 0 {
		return nil
	}
	begin := samples[0].at
	columns := columnSpans(samples, begin, end)
	top := git
	for _, c := range columns {
		top = max(top, c.most)
	}
	var out []string
	for v := top; v > 0; v-- {
		row := strings.Builder{}
		for _, c := range columns {
			row.WriteString(columnShade(c, v))
		}
		line := fmt.Sprintf("%5d ┤%s", v, row.String())
		if v == git {
			line += " ◄ Git"
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	last := fmt.Sprintf("%.0fs", end.Sub(begin).Seconds())
	return append(out, "      └"+strings.Repeat("─", chartWidth), "       0s"+strings.Repeat(" ", max(1, chartWidth-2-len(last)))+last)
}

// span is what held during one column.
type span struct{ least, most int64 }

func columnShade(c span, v int64) string {
	switch {
	case v <= c.least:
		return "█"
	case v <= c.most:
		return "░"
	}
	return " "
}

func columnSpans(samples []sample, begin, end time.Time) []span {
	width := max(end.Sub(begin), time.Millisecond) / chartWidth
	columns := make([]span, chartWidth)
	next, held := 0, samples[0].value
	for i := range columns {
		c := span{held, held}
		until := begin.Add(width * time.Duration(i+1))
		for next < len(samples) && samples[next].at.Before(until) {
			held = samples[next].value
			c.least, c.most = min(c.least, held), max(c.most, held)
			next++
		}
		columns[i] = c
	}
	return columns
}

// chartBar is a value as a length.
func chartBar(v int64) string { return strings.Repeat("█", int(min(max(v, 0), chartWidth))) }
