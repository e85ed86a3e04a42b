package readonly

import (
	"context"
	"errors"
	"testing"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// seen counts what reaches the server.
type seen struct{ applies, edits []apply.DryRun }

func (s *seen) Apply(_ context.Context, a apply.Apply) (object.Object, error) {
	s.applies = append(s.applies, a.DryRun)
	return object.Object{}, nil
}

func (s *seen) Edit(_ context.Context, e apply.Edit) (object.Object, error) {
	s.edits = append(s.edits, e.DryRun)
	return object.Object{}, nil
}

func (*seen) Delete(context.Context, apply.Target) error { return nil }

func TestWhoOnlyLooksWritesNothing(t *testing.T) {
	s := &seen{}
	l := Writer{s}
	if _, err := l.Apply(t.Context(), apply.Apply{DryRun: apply.Simulate}); err != nil || len(s.applies) != 1 {
		t.Errorf("a dry run does not get through: %v", err)
	}
	for _, how := range []apply.DryRun{apply.Persist, ""} {
		if _, err := l.Apply(t.Context(), apply.Apply{DryRun: how}); !errors.Is(err, ErrReadOnly) || len(s.applies) != 1 {
			t.Errorf("%q got through: %v", how, err)
		}
	}
	if _, err := l.Edit(t.Context(), apply.Edit{DryRun: apply.Simulate}); err != nil || len(s.edits) != 1 {
		t.Errorf("a dry run of an edit does not get through: %v", err)
	}
	for _, how := range []apply.DryRun{apply.Persist, ""} {
		if _, err := l.Edit(t.Context(), apply.Edit{DryRun: how}); !errors.Is(err, ErrReadOnly) || len(s.edits) != 1 {
			t.Errorf("%q of an edit got through: %v", how, err)
		}
	}
	if err := l.Delete(t.Context(), apply.Target{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("delete: %v", err)
	}
	r := Inventory{}
	if err := errors.Join(r.Save(t.Context(), inventory.Record{}), r.Delete(t.Context(), app.Key{})); !errors.Is(err, ErrReadOnly) {
		t.Errorf("inventory: %v", err)
	}
}
