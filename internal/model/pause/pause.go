// Package pause answers: how long is the pause before something that has failed is tried again?
//
// In: the first pause, and how often it was tried.
// Out: the pause, or that it is not tried again.
// Promise: pure; a pause never gets shorter than the one before, up to the longest one.
// Not here: who tries again (controller).
package pause

import "time"

// Backoff lengthens the pause between failed runs: each is Factor times the one before, Most at most. The zero value keeps the
// pause, without end.
type Backoff struct {
	Factor int64
	Max    time.Duration
	Limit  int64 // of tries in a row, after which only the next full check tries again; 0 for no limit, below 0 for no try
}

// Pause is how long to wait after a failed run; the first of a row is number 1. False: it is not to be tried again.
func (b Backoff) Pause(first time.Duration, number int) (time.Duration, bool) {
	if b.Limit < 0 || b.Limit > 0 && int64(number) > b.Limit {
		return 0, false
	}
	pause := first
	for n := 1; n < number && b.Factor > 1; n++ {
		pause *= time.Duration(b.Factor)
		if b.Max > 0 && pause >= b.Max || pause < first {
			break
		}
	}
	if b.Max > 0 && (pause > b.Max || pause < first) {
		pause = b.Max
	}
	return pause, true
}
