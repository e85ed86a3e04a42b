package compose

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
	l := looker{s}
	if _, err := l.Apply(t.Context(), apply.Apply{DryRun: apply.Simulate}); err != nil || len(s.applies) != 1 {
		t.Errorf("a dry run does not get through: %v", err)
	}
	for _, how := range []apply.DryRun{apply.Persist, ""} {
		if _, err := l.Apply(t.Context(), apply.Apply{DryRun: how}); !errors.Is(err, errReadOnly) || len(s.applies) != 1 {
			t.Errorf("%q got through: %v", how, err)
		}
	}
	if _, err := l.Edit(t.Context(), apply.Edit{DryRun: apply.Simulate}); err != nil || len(s.edits) != 1 {
		t.Errorf("a dry run of an edit does not get through: %v", err)
	}
	for _, how := range []apply.DryRun{apply.Persist, ""} {
		if _, err := l.Edit(t.Context(), apply.Edit{DryRun: how}); !errors.Is(err, errReadOnly) || len(s.edits) != 1 {
			t.Errorf("%q of an edit got through: %v", how, err)
		}
	}
	if err := l.Delete(t.Context(), apply.Target{}); !errors.Is(err, errReadOnly) {
		t.Errorf("delete: %v", err)
	}
	r := reader{}
	if err := errors.Join(r.Save(t.Context(), inventory.Record{}), r.Delete(t.Context(), app.Key{})); !errors.Is(err, errReadOnly) {
		t.Errorf("inventory: %v", err)
	}
}

func TestTheReadyLineOfTheSandbox(t *testing.T) {
	path, ok := readyLine("ready kubeconfig=/a dir/kubeconfig server=https://127.0.0.1:1 took=2s")
	if !ok || path != "/a dir/kubeconfig" {
		t.Errorf("got %q, %v", path, ok)
	}
	if _, ok := readyLine("starting kubeconfig=/x"); ok {
		t.Error("another line was taken for it")
	}
}

func TestRepositoriesNameTheirResources(t *testing.T) {
	for url, want := range map[string]string{
		"https://example.com/team/Fleet.git": "fleet", "git@example.com:fleet": "fleet", "/home/me/my_repo": "my-repo", "/": "repository", "": "repository",
	} {
		if got := nameOf(url); got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}
