// Package runs answers: how many runs of an app has a status not counted yet?
//
// In: the runs as they end, and the statuses as they are written.
// Out: Runs.
// Promise: pure; a run counts once, also where the status is not seen yet that has counted it.
// Not here: the form of a history (dialect).
package runs

import "time"

// Runs are the runs of an app in this process that built the same objects one after the other, and came to apply them.
type Runs struct {
	Digest string        // of what they built
	Newest bool          // the app's newest run is one of them
	Began  time.Time     // when the first began since another generation, or a run that could not apply what it had built; zero where the newest could not
	Ended  time.Time     // when the newest ended
	Took   time.Duration // of the newest
	Count  int           // that ended since the status was written last that counts runs
	Noted  time.Time     // Ended as that status says it; zero for no such status of this process
	Before int           // that status counted so many for the first time
}

// After returns how many of the runs a history lacks, whose newest entry is of that time. Times of a status are in seconds.
func (r Runs) After(newest time.Time) int {
	if !r.Noted.IsZero() && newest.Before(r.Noted.Truncate(time.Second)) {
		return r.Count + r.Before
	}
	return r.Count
}

// Add returns the runs with one more.
func (r Runs) Add(digest string, ended time.Time, took time.Duration) Runs {
	if r.Digest != digest {
		r = Runs{Digest: digest}
	}
	if r.Began.IsZero() {
		r.Began = ended.Add(-took)
	}
	r.Newest, r.Ended, r.Took = true, ended, took
	r.Count++
	return r
}

// Note returns the runs after a status was written that counts those of then.
func (r Runs) Note(then Runs) Runs {
	if r.Digest == then.Digest {
		r.Noted, r.Before, r.Count = then.Ended, then.Count, r.Count-then.Count
	}
	return r
}
