package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// teller tells what happens, each line with the seconds since the beginning.
type teller struct {
	w     io.Writer
	term  terminal
	begin time.Time
	mu    sync.Mutex
}

func newTeller(w io.Writer, term terminal, begin time.Time) *teller {
	return &teller{w: w, term: term, begin: begin}
}

// step tells of something that is done.
func (t *teller) step(text string) { t.at(time.Now(), text) }

// at tells of something that happened at a moment.
func (t *teller) at(when time.Time, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	stamp := fmt.Sprintf("%7.2fs", when.Sub(t.begin).Seconds())
	fmt.Fprintf(t.w, "%s  %s\n", t.term.in(faint, stamp), text)
}

// head begins a chapter, with what it is about.
func (t *teller) head(title, about string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.w, "\n%s\n%s\n\n", t.term.in(bold, title), about)
}

// block prints lines as they are.
func (t *teller) block(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range lines {
		fmt.Fprintln(t.w, l)
	}
}
