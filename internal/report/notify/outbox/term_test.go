package outbox_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
)

// TestAFileOfAnEarlierTermIsRecognised: it has all that was said only where no other process has led since.
func TestAFileOfAnEarlierTermIsRecognised(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"))
	for i, c := range []struct {
		number   int
		complete bool
	}{{4, false}, {5, true}, {7, false}, {8, true}, {8, false}, {0, false}, {-1, true}, {-1, true}, {3, true}} {
		if complete, err := s.BeginTerm(c.number); err != nil || complete != c.complete {
			t.Errorf("%d, in the term %d: %v, %v", i, c.number, complete, err)
		}
	}
	earlier := open(t, filepath.Join(t.TempDir(), "earlier.db")) // an earlier version has stored no number
	push(t, earlier, note("waits", "", notify.Info))
	if complete, err := earlier.BeginTerm(9); err != nil || !complete {
		t.Errorf("of an earlier version: %v, %v", complete, err)
	}
	alone := open(t, filepath.Join(t.TempDir(), "alone.db"))
	for i, want := range []bool{false, true} {
		if complete, err := alone.BeginTerm(-1); err != nil || complete != want {
			t.Errorf("without an election, start %d: %v, %v", i, complete, err)
		}
	}
}

// TestWhatAnEarlierTermHasLeftIsDoubted: another process may have said that it is over. What differs is judged by the cluster, and what is to be closed stays.
func TestWhatAnEarlierTermHasLeftIsDoubted(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"))
	opened := func(kind string) matter.State {
		return matter.State{Open: true, Form: "x", At: time.Now(), Opened: notify.Message{Matter: notify.Matter{Kind: kind, Phase: notify.Opens, Form: "x"}}}
	}
	states := map[string]matter.State{
		"failure": opened(matter.Failure), "drift": opened(matter.Drift), "ended": {At: time.Now(), Settled: true},
		"unclosed": {At: time.Now(), Sent: map[string]matter.Sent{"shop/pager": {Provider: "pager"}}},
	}
	look := func(when, want string) {
		t.Helper()
		all, err := s.States("")
		text := ""
		for _, key := range []string{"drift", "ended", "failure", "unclosed"} {
			if state, there := all[key]; there {
				text += fmt.Sprintf("%s %v ", key, state.Stale)
				if state.Later != nil || state.Heard != nil {
					text += "and waits "
				}
			}
		}
		if err != nil || text != want {
			t.Errorf("%s: %q, want %q (%v)", when, text, want, err)
		}
	}
	waiting := states["drift"] // with a newer value that is not said yet
	waiting.Later, waiting.Heard = &notify.Message{At: time.Now()}, map[string]string{"shop/alert": "shop/pager"}
	states["drift"] = waiting
	err := s.Update(func(tx *outbox.Tx) (err error) {
		for key, state := range states {
			err = errors.Join(err, tx.PutState(key, state))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{1, 2} {
		if _, err := s.BeginTerm(number); err != nil {
			t.Fatal(err)
		}
	}
	look("in the next term", "drift false and waits ended false failure false unclosed false ")
	if _, err := s.BeginTerm(4); err != nil {
		t.Fatal(err)
	}
	look("after another process", "drift false failure true unclosed false ")
}
