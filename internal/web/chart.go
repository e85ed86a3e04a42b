package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/report/journal"
)

// chart is a field's value over time, as a line of steps. Its measures are SVG's.
type chart struct {
	Width, Height int
	Line          string // of an SVG path
	Git           int    // height of Git's value
	GitSpot       string // its marks along the line: where truce put it back
	Levels        []chartLevel
	From, To      string
	Span          string // how long it is from one to the other
	About         string // for who does not see it
}

// chartLevel is one value, at its height.
type chartLevel struct {
	Y    int
	Text string
	Git  bool
}

// Measures of a chart.
const (
	chartWidth, chartHeight = 640, 96
	chartPad                = 12
	levelGap                = 13 // between the texts of two values
	levelText               = 20 // characters of a value
)

// newChart draws a field that took more than one value, nil for any other.
func newChart(f journal.Oscillation, from, to time.Time) *chart {
	scale := newChartScale(f)
	if len(scale.values) < 2 || !to.After(from) {
		return nil
	}
	c := &chart{
		Width: chartWidth, Height: chartHeight, Git: scale.y(f.Git), From: axisTime(from, to.Sub(from)), To: axisTime(to, to.Sub(from)), Span: duration(to.Sub(from)), Levels: scale.levels(f.Git),
		About: fmt.Sprintf("%s of %s: %d values, put back %d times, undone %d times", f.Path, f.Object, len(f.Values), f.Corrections, f.Reversals),
	}
	x := func(at time.Time) int {
		return int(float64(chartWidth) * min(max(float64(at.Sub(from))/float64(to.Sub(from)), 0), 1))
	}
	var line, spots strings.Builder
	fmt.Fprintf(&line, "M%d %d", x(f.Values[0].At), c.Git)
	for _, v := range f.Values {
		fmt.Fprintf(&line, " H%d V%d", x(v.At), scale.y(v.Value))
		if v.By == "truce" {
			fmt.Fprintf(&spots, "M%d %dv6", x(v.At), chartHeight-chartPad/2)
		}
	}
	fmt.Fprintf(&line, " H%d", chartWidth)
	c.Line, c.GitSpot = line.String(), spots.String()
	return c
}

func axisTime(at time.Time, span time.Duration) string {
	const day = 24 * time.Hour
	if span > day {
		return at.UTC().Format("2006-01-02 15:04")
	}
	return at.UTC().Format("15:04:05")
}

// duration is a span in the two greatest of its units, such as 1 min 17 s.
func duration(d time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		long, short time.Duration
		of, part    string
	}{{day, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "min"}, {time.Minute, time.Second, "min", "s"}} {
		if d < u.long {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.long, u.of)
		if rest := d % u.long / u.short; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest, u.part)
		}
		return text
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// chartScale gives each value of a field a height: in proportion where all are numbers, else one step each in the order in which they were seen.
type chartScale struct {
	values  []any
	texts   []string
	numbers bool
	least   float64
	most    float64
}

func newChartScale(f journal.Oscillation) *chartScale {
	s := &chartScale{numbers: true}
	s.take(f.Git)
	for _, v := range f.Values {
		s.take(v.Value)
	}
	return s
}

func (s *chartScale) take(v any) {
	text := formatValue(v)
	if slices.Contains(s.texts, text) {
		return
	}
	n, ok := numericValue(v)
	s.numbers = s.numbers && ok
	if len(s.values) == 0 {
		s.least, s.most = n, n
	}
	s.least, s.most = min(s.least, n), max(s.most, n)
	s.values, s.texts = append(s.values, v), append(s.texts, text)
}

func numericValue(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func (s *chartScale) y(v any) int {
	part := 0.0
	if n, ok := numericValue(v); s.numbers && ok {
		part = (n - s.least) / (s.most - s.least)
	} else if at := slices.Index(s.texts, formatValue(v)); at > 0 {
		part = float64(at) / float64(len(s.texts)-1)
	}
	return chartHeight - chartPad - int(part*(chartHeight-2*chartPad))
}

// levels are the values that there is room for: Git's, the least and the greatest (or the first and the last), then the others.
func (s *chartScale) levels(git any) []chartLevel {
	var out []chartLevel
	add := func(i int) {
		l := chartLevel{Y: s.y(s.values[i]), Text: truncateLevel(s.texts[i]), Git: s.texts[i] == formatValue(git)}
		if !slices.ContainsFunc(out, func(o chartLevel) bool { return max(o.Y-l.Y, l.Y-o.Y) < levelGap }) {
			out = append(out, l)
		}
	}
	for _, y := range []int{s.y(git), chartPad, chartHeight - chartPad} {
		for i, v := range s.values {
			if s.y(v) == y {
				add(i)
			}
		}
	}
	for i := range s.values {
		add(i)
	}
	return out
}

func truncateLevel(s string) string {
	text := []rune(s)
	if len(text) <= levelText {
		return s
	}
	return string(text[:levelText-1]) + "…"
}
