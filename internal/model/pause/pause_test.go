package pause

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPausesGrowUpToABoundAndEnd(t *testing.T) {
	b := Backoff{Factor: 2, Max: 30 * time.Second, Limit: 5}
	var got []time.Duration
	for n := 1; ; n++ {
		pause, again := b.Pause(5*time.Second, n)
		if !again {
			break
		}
		got = append(got, pause)
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, again := (Backoff{Limit: -1}).Pause(time.Second, 1); again {
		t.Error("a limit below 0 is tried again")
	}
	if pause, again := (Backoff{}).Pause(time.Minute, 1000); pause != time.Minute || !again {
		t.Errorf("the zero value gives %s, %v", pause, again)
	}
	if pause, _ := (Backoff{Factor: 1 << 40, Max: time.Hour}).Pause(time.Second, 100); pause != time.Hour {
		t.Errorf("a huge factor gives %s", pause)
	}
}
