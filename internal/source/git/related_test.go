package git_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestAnUnrelatedHistoryIsRecognised: a force-push is related where it shares an ancestor, in every transport.
func TestAnUnrelatedHistoryIsRecognised(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1\n"})
	for form, way := range mainTransports(t, r) {
		spec := way.spec(source.Ref{Any: "main"}) // as an Application names it
		ask := func(was, is, what string, want bool) {
			t.Helper()
			if got, err := way.store.Related(t.Context(), spec, was, is); err != nil || got != want {
				t.Errorf("%s: %s: related is %t (%v), want %t", form, what, got, err, want)
			}
		}
		first := fetch(t, way.store, spec).Commit
		r.Commit(map[string]string{"a": form}, "more")
		second := fetch(t, way.store, spec).Commit
		ask(first, second, "a commit later", true)
		ask(second, second, "the same commit", true)
		r.ForcePush(map[string]string{"a": form + " new"}, "unrelated")
		third := fetch(t, way.store, spec).Commit
		ask(second, third, "a force-push of an unrelated history", false)
	}
}

// TestAHistoryThatIsNotKnownToItsRootIsNotCalledUnrelated: the commit may lie before what is read.
func TestAHistoryThatIsNotKnownToItsRootIsNotCalledUnrelated(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "0\n"})
	first := r.Head()
	r.Commits(310)
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s, spec := newStore(t), source.Spec{URL: server.URL, Ref: source.Ref{Branch: "main"}}
	a := fetch(t, s, spec)
	if got, err := s.Related(t.Context(), spec, first, a.Commit); err != nil || !got {
		t.Errorf("related is %t (%v), want true", got, err)
	}
}

// TestATagHasAHistory: a name that may be a branch's or a tag's is looked for among both.
func TestATagHasAHistory(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1\n"})
	first := r.Head()
	second := r.Commit(map[string]string{"a": "2\n"}, "more")
	r.Tag("v1.0.0", second)
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s, spec := newStore(t), source.Spec{URL: server.URL, Ref: source.Ref{Any: "v1.0.0"}}
	if got, err := s.Related(t.Context(), spec, first, second); err != nil || !got {
		t.Errorf("related is %t (%v), want true", got, err)
	}
	if got, err := s.History(t.Context(), spec, git.Lines{Commit: second, File: "a", Lines: []int{1}}); err != nil || got[1].Commit != second {
		t.Errorf("line 1 is of %+v (%v), want %s", got[1], err, second)
	}
}
