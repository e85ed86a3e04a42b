package matter_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func message(phase notify.Phase, form string, at time.Time) notify.Message {
	return notify.Message{
		Event:  notify.Event{Severity: notify.Error, Reason: "FieldContested", Text: "text " + form},
		About:  object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "shop", Name: "web"},
		Matter: notify.Matter{Kind: matter.Contested, Object: "Deployment shop/web", Field: ".spec.replicas", Phase: phase, Form: form}, At: at,
	}
}

func TestAMatterIsSaidWhenItOpensChangesAndEnds(t *testing.T) {
	var s matter.State
	for i, c := range []struct {
		phase notify.Phase
		form  string
		said  bool
	}{
		{notify.Opens, "a", true}, {notify.Opens, "a", false}, {notify.Opens, "b", true}, {notify.Opens, "b", false}, {notify.Ends, "", true},
		{notify.Ends, "", false}, {notify.Opens, "a", true},
	} {
		next, said := matter.Advance(s, message(c.phase, c.form, start.Add(time.Duration(i)*time.Second)))
		if said != c.said {
			t.Errorf("step %d, %s %q: said %v", i, c.phase, c.form, said)
		}
		s = next
	}
}

// TestWhatOpensAfterAnotherProcessHasLedIsSaid: what the file has open may have ended meanwhile. It is no alert to repeat until it is known to hold.
func TestWhatOpensAfterAnotherProcessHasLedIsSaid(t *testing.T) {
	s, _ := matter.Advance(matter.State{}, message(notify.Opens, "a", start))
	s.Stale = true
	if s.HasEnd() {
		t.Error("it is taken to hold")
	}
	next, said := matter.Advance(s, message(notify.Opens, "a", start.Add(time.Second)))
	if !said || !next.HasEnd() {
		t.Errorf("it opens: said %v, %+v", said, next)
	}
	if _, said := matter.Advance(s, message(notify.Ends, "", start.Add(time.Second))); !said {
		t.Error("its end is not said")
	}
}

// TestThatAMatterIsSettledIsRememberedForAWhile, so that on-call tools are not asked to close it again at each success.
func TestThatAMatterIsSettledIsRememberedForAWhile(t *testing.T) {
	s := matter.State{At: start, Settled: true}
	if s.IsUnknown() || s.Expired(start.Add(24*time.Hour)) || !s.Expired(start.Add(31*24*time.Hour)) || !(matter.State{}).IsUnknown() {
		t.Errorf("%+v", s)
	}
}

// TestAMatterOfAnAppThatWasCreatedAgainIsSaid: truce may not have seen that the earlier one of its name was deleted.
func TestAMatterOfAnAppThatWasCreatedAgainIsSaid(t *testing.T) {
	var s matter.State
	for i, c := range []struct {
		uid  string
		said bool
	}{{"1", true}, {"1", false}, {"2", true}, {"2", false}} {
		m := message(notify.Opens, "a", start.Add(time.Duration(i)*time.Second))
		m.UID = c.uid
		next, said := matter.Advance(s, m)
		if said != c.said {
			t.Errorf("look %d, at the uid %s: said %v", i, c.uid, said)
		}
		s = next
	}
}

// TestADetailIsSaidOnceWithinRepeat: another controller writes a field every ten seconds. The end is said at once, and what opens after it.
func TestADetailIsSaidOnceWithinRepeat(t *testing.T) {
	var s matter.State
	detail := func(value string, after time.Duration) notify.Message {
		m := message(notify.Opens, "a", start.Add(after))
		m.Matter.Detail = value
		return m
	}
	for _, c := range []struct {
		message notify.Message
		said    bool
		later   string
	}{
		{detail("1", 0), true, ""}, {detail("2", 10*time.Second), false, "2"}, {detail("3", 20*time.Second), false, "3"},
		{detail("1", 30*time.Second), false, ""}, {detail("4", 40*time.Second), false, "4"}, {detail("5", matter.Repeat), true, ""},
		{detail("6", matter.Repeat+time.Second), false, "6"}, {message(notify.Ends, "", start.Add(matter.Repeat+2*time.Second)), true, ""},
		{detail("7", matter.Repeat+3*time.Second), true, ""},
	} {
		next, said := matter.Advance(s, c.message)
		later := ""
		if next.Later != nil {
			later = next.Later.Matter.Detail
		}
		if said != c.said || later != c.later || next.Due().IsZero() != (c.later == "") {
			t.Errorf("%s %q: said %v, later %q at %s", c.message.Matter.Phase, c.message.Matter.Detail, said, later, next.Due())
		}
		s = next
	}
}

func TestTheSameMessageOfNoMatterIsSaidOnceWithinRepeat(t *testing.T) {
	m := message(notify.Once, "", start)
	m.Matter = notify.Matter{}
	s, first := matter.Advance(matter.State{}, m)
	m.At = start.Add(matter.Repeat - time.Second)
	s, second := matter.Advance(s, m)
	m.At = start.Add(matter.Repeat)
	s, third := matter.Advance(s, m)
	if !first || second || !third {
		t.Errorf("said %v, %v, %v", first, second, third)
	}
	if s.Expired(m.At) || !s.Expired(m.At.Add(matter.Repeat)) {
		t.Error("a state is forgotten when nothing depends on it, and not before")
	}
}

// TestMessagesOfAMatterAlternate: whatever comes in, and however often it comes twice, no form is said twice in a row, and no end without an
// opening between it and the end before.
func TestMessagesOfAMatterAlternate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	forms := []string{"a", "b", "c"}
	for range 2000 {
		var s matter.State
		last, at := "", start
		for range 30 {
			at = at.Add(time.Duration(rnd.IntN(10)) * time.Second)
			m := message(notify.Opens, forms[rnd.IntN(3)], at)
			now := m.Matter.Form
			if rnd.IntN(3) == 0 {
				m, now = message(notify.Ends, "", at), "ended"
			}
			next, said := matter.Advance(s, m)
			if again, twice := matter.Advance(next, m); twice || again.Open != next.Open {
				t.Fatalf("the same message twice is said twice: %+v", m)
			}
			s = next
			if !said {
				continue
			}
			if now == last {
				t.Fatalf("said %q twice in a row", now)
			}
			last = now
		}
	}
}

func TestAMatterThatHoldsNoMoreIsSettled(t *testing.T) {
	s, _ := matter.Advance(matter.State{}, message(notify.Opens, "a", start))
	of := message(notify.Once, "", start.Add(time.Minute))
	if _, ended := matter.EndMessage(s, of, []notify.Matter{of.Matter}); ended {
		t.Error("a matter that holds is ended")
	}
	end, ended := matter.EndMessage(s, of, nil)
	if !ended || end.Reason != "FieldSettled" || end.Severity != notify.Info || end.Matter.Phase != notify.Ends {
		t.Errorf("%v %+v", ended, end)
	}
	next, said := matter.Advance(s, end)
	if !said || next.Open {
		t.Errorf("the end is not said: %+v", next)
	}
	if _, again := matter.EndMessage(next, of, nil); again {
		t.Error("a matter ends twice")
	}
	ceded := message(notify.Opens, "a", start)
	ceded.Matter.Kind = matter.Ceded
	if s, _ := matter.Advance(matter.State{}, ceded); s.Open {
		if _, ended := matter.EndMessage(s, of, nil); ended {
			t.Error("a ceded field is news once: its end is not said")
		}
	}
}

func TestEachKindEndsInItsOwnWords(t *testing.T) {
	for kind, want := range map[string]string{matter.HeldPrune: "PruneReleased", matter.Drift: "DriftEnded", matter.Contested: "FieldSettled", matter.Unhealthy: "HealthRecovered"} {
		m := message(notify.Opens, "a", start)
		m.Matter.Kind = kind
		s, _ := matter.Advance(matter.State{}, m)
		if end, ended := matter.EndMessage(s, message(notify.Once, "", start.Add(time.Minute)), nil); !ended || end.Reason != want {
			t.Errorf("%s: %v %s", kind, ended, end.Reason)
		}
	}
}

// TestACauseThatIsKnownLaterIsSaidOnce: pods in trouble go from one cause to the next, and are read a moment after the app is degraded.
func TestACauseThatIsKnownLaterIsSaidOnce(t *testing.T) {
	var s matter.State
	for i, c := range []struct {
		phase notify.Phase
		form  string
		said  bool
	}{
		{notify.Opens, "", true}, {notify.Opens, "", false}, {notify.Opens, "known", true}, {notify.Opens, "", false}, {notify.Opens, "known", false},
		{notify.Ends, "", true}, {notify.Opens, "known", true}, {notify.Opens, "", false},
	} {
		next, said := matter.Advance(s, message(c.phase, c.form, start.Add(time.Duration(i)*time.Second)))
		if said != c.said {
			t.Errorf("step %d, %s %q: said %v", i, c.phase, c.form, said)
		}
		s = next
	}
}
