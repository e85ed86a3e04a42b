package runs

import (
	"testing"
	"time"
)

// TestRunsBeginWithTheFirstThatBuiltTheSame: another one that builds the same does not begin them again, one that builds something else does.
func TestRunsBeginWithTheFirstThatBuiltTheSame(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var r Runs
	for i, c := range []struct {
		digest string
		ended  time.Duration
		want   time.Duration
	}{
		{"a", time.Second, 0},
		{"a", time.Minute, 0},
		{"b", 2 * time.Minute, 2*time.Minute - time.Second},
		{"b", 3 * time.Minute, 2*time.Minute - time.Second},
		{"a", 4 * time.Minute, 4*time.Minute - time.Second},
	} {
		r = r.Add(c.digest, at.Add(c.ended), time.Second)
		if want := at.Add(c.want); !r.Began.Equal(want) {
			t.Errorf("after run %d they began at %s, want %s", i, r.Began, want)
		}
	}
}
