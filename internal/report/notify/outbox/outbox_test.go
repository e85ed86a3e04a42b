package outbox_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

var to = route.Key{Namespace: "shop", Name: "chat"}

func open(t *testing.T, path string) *outbox.Store {
	t.Helper()
	s, err := outbox.OpenStore(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func note(text, field string, severity notify.Severity) route.Note {
	return route.Note{Message: notify.Message{
		Event: notify.Event{Severity: severity, Text: text}, About: object.ID{Kind: "Kustomization", Namespace: "shop", Name: "web"},
		Matter: notify.Matter{Kind: matter.Drift, Field: field}, At: time.Now(),
	}}
}

func push(t *testing.T, s *outbox.Store, notes ...route.Note) {
	t.Helper()
	err := s.Update(func(tx *outbox.Tx) error {
		for _, n := range notes {
			if err := tx.Push(to, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatWasStoredSurvivesAKill: the file of a process that never closes it, as after SIGKILL, holds the state of a matter and its notes; what was not
// complete is not there.
func TestWhatWasStoredSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "live.db"))
	m := note("opens", ".spec.replicas", notify.Error).Message
	m.Matter.Phase, m.Matter.Form = notify.Opens, "5"
	state, _ := matter.Advance(matter.State{}, m)
	err := s.Update(func(tx *outbox.Tx) error {
		return errors.Join(tx.PutState(matter.KeyOf(m), state), tx.Push(to, route.Note{Message: m}))
	})
	if err != nil {
		t.Fatal(err)
	}
	fault := errors.New("in the middle")
	if err := s.Update(func(tx *outbox.Tx) error { return errors.Join(tx.Push(to, note("half", "", notify.Info)), fault) }); !errors.Is(err, fault) {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "live.db"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "after.db"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	after := open(t, filepath.Join(dir, "after.db"))
	items, dropped, err := after.Pending(to)
	if err != nil || dropped != 0 || len(items) != 1 || items[0].Message.Text != "opens" {
		t.Fatalf("%v %d %+v", err, dropped, items)
	}
	_ = after.Update(func(tx *outbox.Tx) error {
		if _, again := matter.Advance(tx.State(matter.KeyOf(m)), m); again {
			t.Error("what was said before the kill is said again")
		}
		if n := len(tx.States(matter.PrefixOf(m))); n != 1 {
			t.Errorf("%d states of the app", n)
		}
		return nil
	})
	if err := after.Done(to, []uint64{items[0].ID}, 0); err != nil {
		t.Fatal(err)
	}
	if items, _, _ := after.Pending(to); len(items) != 0 {
		t.Errorf("sent, and still there: %+v", items)
	}
}

func TestAQueueIsBoundedAndDropsRepeatsFirst(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"))
	push(t, s, note("an error of long ago", "oldest", notify.Error))
	var notes []route.Note
	for i := range outbox.Most + 100 {
		field := "same"
		if i%2 == 0 {
			field = fmt.Sprint(i)
		}
		notes = append(notes, note(fmt.Sprint(i), field, notify.Error))
	}
	push(t, s, notes...)
	items, dropped, err := s.Pending(to)
	if err != nil || len(items) != outbox.Most || dropped != 101 {
		t.Fatalf("%v: %d items, %d dropped", err, len(items), dropped)
	}
	if items[0].Message.Text != "an error of long ago" {
		t.Errorf("dropped the only message of a matter, and not repeats: %+v", items[0])
	}
	if err := s.Done(to, nil, dropped); err != nil {
		t.Fatal(err)
	}
	if _, dropped, _ := s.Pending(to); dropped != 0 {
		t.Errorf("%d dropped, which were reported", dropped)
	}
}

func TestADamagedFileIsPutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, []byte("this is no database, whatever else it may be"), 0o600); err != nil {
		t.Fatal(err)
	}
	push(t, open(t, path), note("works", "", notify.Info))
	if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != 1 {
		t.Errorf("put aside: %v", aside)
	}
}

// TestWhatIsDiscardedWasNotSaid: of a Provider that is suspended, for one; another Alert has said it, and an older message of the matter was not the newest.
func TestWhatIsDiscardedWasNotSaid(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"))
	by, other := route.Key{Namespace: "shop", Name: "a"}, route.Key{Namespace: "shop", Name: "b"}
	newest, older := note("newest", "x", notify.Error), note("older", "y", notify.Error)
	for _, n := range []*route.Note{&newest, &older} {
		n.Alert, n.Message.Matter.Phase, n.Message.Matter.Form = by, notify.Opens, n.Message.Text
	}
	for _, remove := range []func([]outbox.Item) error{
		func(items []outbox.Item) error {
			return s.Update(func(tx *outbox.Tx) error { return tx.Discard(to, items) })
		},
		func([]outbox.Item) error { return s.Remove(to) },
	} {
		err := s.Update(func(tx *outbox.Tx) error {
			heard := func(form string) matter.State {
				return matter.State{Open: true, Form: form, Heard: map[string]string{by.String(): "chat", other.String(): "chat"}}
			}
			return errors.Join(tx.PutState(matter.KeyOf(newest.Message), heard("newest")), tx.PutState(matter.KeyOf(older.Message), heard("another")))
		})
		if err != nil {
			t.Fatal(err)
		}
		push(t, s, newest, older)
		items, _, err := s.Pending(to)
		if err := errors.Join(err, remove(items)); err != nil {
			t.Fatal(err)
		}
		states, err := s.States("")
		if got := states[matter.KeyOf(newest.Message)].Heard; err != nil || len(got) != 1 || got[other.String()] == "" {
			t.Errorf("the newest message was heard by %v (%v)", got, err)
		}
		if got := states[matter.KeyOf(older.Message)].Heard; len(got) != 2 {
			t.Errorf("the message that followed was heard by %v", got)
		}
		if items, _, _ := s.Pending(to); len(items) != 0 {
			t.Errorf("discarded, and still there: %+v", items)
		}
	}
}

// TestAShortFileIsPutAside cuts a file off, as a full disk does at the first start. A look behind the end would end the process (SIGBUS).
func TestAShortFileIsPutAside(t *testing.T) {
	from := filepath.Join(t.TempDir(), "whole.db")
	s := open(t, from)
	push(t, s, note("waits", "", notify.Info))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 4096, 8192, 12288, 16384} {
		path := filepath.Join(t.TempDir(), "notifications.db")
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		push(t, open(t, path), note("new", "", notify.Info))
		if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != 1 {
			t.Errorf("%d of %d bytes: put aside: %v", n, len(whole), aside)
		}
	}
}
