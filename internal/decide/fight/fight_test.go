package fight_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide/fight"
)

var start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const path = ".spec.x"

// bouts lets an opponent change the field so long after each correction, for the given time, and returns when it was corrected.
func bouts(o fight.Opponent, after, length time.Duration) []time.Duration {
	var m fight.Memory
	var out []time.Duration
	for now := start; now.Sub(start) < length; {
		if b := m.Bout(path, o, now); b.Open() {
			m = m.WithReversal(path, now)
			now = b.Next
			continue
		}
		m = m.WithCorrection(path, o, now)
		out = append(out, now.Sub(start))
		now = now.Add(after)
	}
	return out
}

func TestAControllerIsLeftAloneAndTriedAgainAfterGrowingPauses(t *testing.T) {
	o := fight.Opponent{Name: "operator"}
	for after, want := range map[time.Duration]string{
		0:                "[0s 0s 10m0s 1h0m0s 1h40m0s 3h0m0s 5h40m0s 11h0m0s 17h0m0s 23h0m0s]",
		time.Second:      "[0s 1s 10m1s 1h0m0s 1h40m0s 3h0m0s 5h40m0s 11h0m0s 17h0m0s 23h0m0s]",
		15 * time.Second: "[0s 15s 10m15s 1h0m0s 1h40m0s 3h0m0s 5h40m0s 11h0m0s 17h0m0s 23h0m0s]",
		5 * time.Minute:  "[0s 5m0s 15m0s 1h0m0s 1h40m0s 3h0m0s 5h40m0s 11h0m0s 17h0m0s 23h0m0s]",
	} {
		if got := fmt.Sprint(bouts(o, after, 24*time.Hour)); got != want {
			t.Errorf("every %s: corrected at %s, want %s", after, got, want)
		}
	}
}

func TestAtMostThreeCorrectionsAreMadeInAnyWindow(t *testing.T) {
	for after := time.Duration(0); after < 2*fight.Window; after += 37 * time.Second {
		times := bouts(fight.Opponent{}, after, 30*time.Hour)
		for i := fight.MaxCorrections; i < len(times); i++ {
			if gap := times[i] - times[i-fight.MaxCorrections]; gap < fight.Window {
				t.Fatalf("every %s: corrections %d to %d lie within %s: %v", after, i-fight.MaxCorrections, i, gap, times)
			}
		}
	}
}

func TestOpponentsThatTakeTurnsAreOneFight(t *testing.T) {
	var m fight.Memory
	now := start
	for i := range 3 {
		m = m.WithCorrection(path, fight.Opponent{Name: fmt.Sprint(i)}, now)
		now = now.Add(time.Second)
	}
	if b := m.Bout(path, fight.Opponent{Name: "another"}, now); !b.Open() {
		t.Error("a fourth correction within seconds is made")
	}
}

func TestAPersonIsCorrectedEachTimeAtMostOnceASecond(t *testing.T) {
	person := fight.Opponent{Name: "kubectl-edit", Kind: fight.Person}
	for after, want := range map[time.Duration]string{
		0:               "[0s 1s 2s 3s 4s 5s 6s 7s 8s 9s]",
		3 * time.Second: "[0s 3s 6s 9s]",
	} {
		if got := fmt.Sprint(bouts(person, after, 10*time.Second)); got != want {
			t.Errorf("an edit %s after each correction: corrected at %s, want %s", after, got, want)
		}
	}
}

func TestAPersonNeitherOpensNorWaitsForTheBreaker(t *testing.T) {
	person, operator := fight.Opponent{Name: "kubectl-edit", Kind: fight.Person}, fight.Opponent{Name: "operator"}
	var m fight.Memory
	now := start
	for range 20 {
		m = m.WithCorrection(path, person, now).WithReversal(path, now.Add(fight.MinSpacing))
		now = now.Add(fight.MinSpacing)
	}
	if b := m.Bout(path, operator, now); b.Open() || b.Corrections != 0 {
		t.Errorf("edits of people count against a controller: %+v", b)
	}
	m = m.WithCorrection(path, operator, now).WithCorrection(path, operator, now.Add(time.Second)).WithReversal(path, now.Add(2*time.Second))
	now = now.Add(5 * time.Second)
	before := m.Bout(path, operator, now)
	if !before.Open() {
		t.Fatal("two reversals by a controller open no breaker")
	}
	if b := m.Bout(path, person, now); b.Open() {
		t.Errorf("a person's edit waits for a controller's breaker: %+v", b)
	}
	for range 20 {
		m = m.WithCorrection(path, person, now).WithReversal(path, now.Add(fight.MinSpacing))
		now = now.Add(fight.MinSpacing)
	}
	if after := m.Bout(path, operator, now); after != before {
		t.Errorf("edits of people change the controller's pause: %+v, want %+v", after, before)
	}
}

func TestARequestTriesOnceAndChangesNoPause(t *testing.T) {
	operator := fight.Opponent{Name: "operator"}
	m := fight.Memory{}.WithCorrection(path, operator, start).WithCorrection(path, operator, start.Add(time.Second)).WithReversal(path, start.Add(2*time.Second))
	now := start.Add(time.Minute)
	before := m.Bout(path, operator, now)
	tried := m.WithRequest(path, operator, now).WithReversal(path, now.Add(time.Second))
	after := tried.Bout(path, operator, now.Add(time.Second))
	want := before
	want.Requested = now
	if after != want || !after.Open() {
		t.Errorf("after a try on request: %+v, want %+v", after, want)
	}
	held := m.WithRequest(path, operator, now)
	if b := held.Bout(path, operator, now.Add(2*fight.Window)); b != (fight.Bout{}) {
		t.Errorf("what stayed for two hours after a try on request is still a fight: %+v", b)
	}
	text, err := tried.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := fight.DecodeMemory(text)
	if got := back.Bout(path, operator, now.Add(time.Second)); err != nil || got != after {
		t.Errorf("after a restart: %+v, %v, want %+v", got, err, after)
	}
}

func TestAnObjectThatIsDeletedAgainAndAgainComesBackAfterShortPauses(t *testing.T) {
	got := fmt.Sprint(bouts(fight.Opponent{Kind: fight.Deleter}, time.Second, 10*time.Minute))
	if want := "[0s 1s 11s 31s 1m11s 2m31s 5m11s]"; got != want {
		t.Errorf("created at %s, want %s", got, want)
	}
}

func TestWhatStaysPutBackForLongerThanTheWindowIsNoFight(t *testing.T) {
	var m fight.Memory
	for _, at := range []time.Duration{0, time.Minute, 2 * time.Hour} {
		m = m.WithCorrection(path, fight.Opponent{}, start.Add(at))
	}
	if b := m.Bout(path, fight.Opponent{}, start.Add(2*time.Hour+time.Minute)); b.Open() || b.Corrections != 1 {
		t.Errorf("%+v, want one correction and no fight", b)
	}
}

func TestAFightThatNobodyEndsStaysOne(t *testing.T) {
	o := fight.Opponent{Name: "operator"}
	m := fight.Memory{}.WithCorrection(path, o, start).WithCorrection(path, o, start).WithReversal(path, start.Add(time.Second))
	m = m.WithCorrection(path, o, start.Add(10*time.Minute)).WithReversal(path, start.Add(11*time.Minute))
	if b := m.Bout(path, o, start.Add(29*time.Minute)); !b.Open() {
		t.Error("the second pause is no longer than the first")
	}
	if b := m.Bout(path, o, start.Add(3*time.Hour)); b.Open() {
		t.Error("it is never tried again")
	}
	again := m.WithCorrection(path, o, start.Add(3*time.Hour))
	if b := again.Bout(path, o, start.Add(3*time.Hour+39*time.Minute)); !b.Open() {
		t.Error("a trial that failed does not make the pause longer")
	}
}

func TestAnotherFieldIsAnotherFight(t *testing.T) {
	m := fight.Memory{}.WithCorrection(path, fight.Opponent{}, start).WithCorrection(path, fight.Opponent{}, start)
	if b := m.Bout(".spec.y", fight.Opponent{}, start); b.Open() {
		t.Error("a field that was never put back is held")
	}
}

func TestAMemoryComesBackFromTheJournal(t *testing.T) {
	o := fight.Opponent{Name: "operator"}
	m := fight.Memory{}.WithCorrection(path, o, start).WithCorrection(path, o, start.Add(time.Second)).WithReversal(path, start.Add(2*time.Second))
	m = m.WithObserved(".spec.replicas", int64(8), start)
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := fight.DecodeMemory(text)
	if err != nil {
		t.Fatal(err)
	}
	now := start.Add(5 * time.Second)
	if want, got := m.Bout(path, o, now), back.Bout(path, o, now); got != want || !got.Open() {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := back.LastValue(".spec.replicas"); got != int64(8) {
		t.Errorf("value %#v, want 8", got)
	}
	if text, err := (fight.Memory{}).WithStuck(path, 7).Encode(); err != nil || text != nil {
		t.Errorf("a memory that remembers nothing prints %q, %v", text, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{".spec.x":{"corrections":[{"at":"2026-01-02T12:00:00Z","against":"operator"}],"trials":3,"value":1e99}}`))
	f.Add([]byte(`{".spec.x":{"corrections":[{"at":"2026-01-02T12:00:00Z"}],"trials":-4}}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		m, err := fight.DecodeMemory(text)
		if err != nil {
			return
		}
		m.Bout(path, fight.Opponent{}, start)
		m.WithCorrection(path, fight.Opponent{}, start).Bout(path, fight.Opponent{Kind: fight.Person}, start)
	})
}

func TestACorrectionIsUndoneOnce(t *testing.T) {
	o := fight.Opponent{Name: "operator"}
	var m fight.Memory
	if m.WasUndone(path, start) {
		t.Error("nothing was corrected")
	}
	m = m.WithCorrection(path, o, start)
	if !m.WasUndone(path, start.Add(time.Minute)) {
		t.Error("it differs again after a minute")
	}
	if m.WasUndone(path, start.Add(2*fight.Window)) {
		t.Error("what stayed for two hours is new drift")
	}
	m = m.WithReversal(path, start.Add(time.Minute))
	if m.WasUndone(path, start.Add(2*time.Minute)) {
		t.Error("it was seen to differ before")
	}
	m = m.WithCorrection(path, o, start.Add(3*time.Minute))
	if !m.WasUndone(path, start.Add(4*time.Minute)) {
		t.Error("the next correction is undone, too")
	}
}

func TestChangesAreCountedWithinTheWindow(t *testing.T) {
	var m fight.Memory
	for i, n := range []int64{3, 5, 5, 8, 4} {
		m = m.WithObserved(path, n, start.Add(time.Duration(i)*20*time.Minute))
	}
	m = m.WithCorrection(path, fight.Opponent{}, start.Add(70*time.Minute))
	if got, want := m.RecentChanges(path, start.Add(90*time.Minute)), (fight.Changes{Corrections: 1, Values: 2}); got != want {
		t.Errorf("%+v, want %+v: 8 and 4 are within the hour, the first value is no change, and 5 was long ago", got, want)
	}
	if m.LastValue(path) != int64(4) || m.PreviousValue(path) != int64(8) {
		t.Errorf("from %v to %v, want from 8 to 4", m.PreviousValue(path), m.LastValue(path))
	}
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := fight.DecodeMemory(text)
	if err != nil || back.PreviousValue(path) != int64(8) || back.RecentChanges(path, start.Add(90*time.Minute)).Values != 2 {
		t.Errorf("%+v, %v", back, err)
	}
}

// TestAFightIsFoundWithinThreeWrites prints what a fight costs: go test ./internal/decide/fight -run FoundWithin -v.
func TestAFightIsFoundWithinThreeWrites(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 15 * time.Second, 5 * time.Minute} {
		var m fight.Memory
		writes, now := 0, start
		for o := (fight.Opponent{Name: "operator"}); !m.Bout(path, o, now).Open(); now = now.Add(after) {
			m = m.WithCorrection(path, o, now)
			if writes++; writes > fight.MaxCorrections {
				t.Fatalf("every %s: no fight is seen after %d writes", after, writes)
			}
		}
		hour, day := 0, bouts(fight.Opponent{Name: "operator"}, after, 24*time.Hour)
		for _, at := range day {
			if at < time.Hour {
				hour++
			}
		}
		t.Logf("undone after %-4s: found after %d writes and %s; %d writes in the first hour, %d in a day", after, writes, now.Sub(start), hour, len(day))
		if hour > fight.MaxCorrections {
			t.Errorf("every %s: %d writes in an hour", after, hour)
		}
	}
}
