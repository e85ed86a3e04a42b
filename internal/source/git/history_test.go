package git_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestHistoryTellsWhoTouchedALine(t *testing.T) {
	r := gittest.New(t, map[string]string{"a.yaml": "one\ntwo\nthree\n"})
	first := r.Head()
	second := r.Commit(map[string]string{"a.yaml": "one\nzwei\nthree\n"}, "a second word\n\nwith a body")
	for i := range 3 {
		r.Commit(map[string]string{"other": strings.Repeat("x", i)}, "noise")
	}
	for form, way := range mainTransports(t, r) {
		spec := way.spec(source.Ref{Any: "main"})
		a := fetch(t, way.store, spec)
		got, err := way.store.History(t.Context(), spec, git.Lines{Commit: a.Commit, File: "a.yaml", Lines: []int{1, 2}})
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if got[1].Commit != first || got[1].Oldest {
			t.Errorf("%s: line 1 is of %+v, want %s", form, got[1], first)
		}
		if c := got[2]; c.Commit != second || c.Subject != "a second word" || !strings.Contains(c.Author, "<") || c.Time.IsZero() {
			t.Errorf("%s: line 2 is of %+v, want %s", form, c, second)
		}
		third := r.Commit(map[string]string{"a.yaml": "eins\nzwei\nthree\n"}, "a first word")
		a = fetch(t, way.store, spec)
		if got, err = way.store.History(t.Context(), spec, git.Lines{Commit: a.Commit, File: "a.yaml", Lines: []int{1}}); err != nil || got[1].Commit != third {
			t.Errorf("%s: after a push: %+v, %v", form, got, err)
		}
		r.ForcePush(map[string]string{"a.yaml": "one\ntwo\nthree\n"}, "again")
		first = r.Head()
		second = r.Commit(map[string]string{"a.yaml": "one\nzwei\nthree\n"}, "a second word")
	}
}

func TestHistoryGoesNoFurtherBackThanIsKnown(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "0\n"})
	r.Commits(310)
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s, spec := newStore(t), source.Spec{URL: server.URL, Ref: source.Ref{Branch: "main"}}
	a := fetch(t, s, spec)
	got, err := s.History(t.Context(), spec, git.Lines{Commit: a.Commit, File: "a", Lines: []int{1}})
	if err != nil || !got[1].Oldest {
		t.Errorf("%+v, %v: want the oldest commit that is known, and that it is", got, err)
	}
}

func TestHistoryTakesNothingForAnOption(t *testing.T) {
	r := gittest.New(t, map[string]string{"--contents=x": "1\n"})
	s, spec := newStore(t), source.Spec{URL: r.Dir, Ref: source.Ref{Branch: "main"}}
	if got, err := s.History(t.Context(), spec, git.Lines{Commit: r.Head(), File: "--contents=x", Lines: []int{1}}); err != nil || got[1].Commit != r.Head() {
		t.Errorf("%v, %v", got, err)
	}
	for _, commit := range []string{"--output=x", "HEAD", ""} {
		if _, err := s.History(t.Context(), spec, git.Lines{Commit: commit, File: "a", Lines: []int{1}}); err == nil {
			t.Errorf("%q is taken for a commit", commit)
		}
	}
}
