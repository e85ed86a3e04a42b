package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// stepPrinter prints what happens, each line with the seconds since the beginning.
type stepPrinter struct {
	w     io.Writer
	term  terminal
	begin time.Time
	mu    sync.Mutex
}

func newStepPrinter(w io.Writer, term terminal, begin time.Time) *stepPrinter {
	return &stepPrinter{w: w, term: term, begin: begin}
}

// Step prints something that is done.
func (t *stepPrinter) Step(text string) { t.at(time.Now(), text) }

// at prints something that happened at a moment.
func (t *stepPrinter) at(when time.Time, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	stamp := fmt.Sprintf("%7.2fs", when.Sub(t.begin).Seconds())
	fmt.Fprintf(t.w, "%s  %s\n", t.term.in(faint, stamp), text)
}

// heading begins a chapter, with what it is about.
func (t *stepPrinter) heading(title, about string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.w, "\n%s\n%s\n\n", t.term.in(bold, title), about)
}

// block prints lines as they are.
func (t *stepPrinter) block(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range lines {
		fmt.Fprintln(t.w, l)
	}
}
