package controller

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/report/notify"
)

func TestAnEventSaysOnceWhatBecameOfAFetch(t *testing.T) {
	t.Parallel()
	fetched := func(digest string) sourceOutcome {
		return sourceOutcome{artifact: digest, ready: "True", reason: "Succeeded", message: "stored artifact"}
	}
	failed := func(digest, message string) sourceOutcome {
		return sourceOutcome{artifact: digest, ready: "False", reason: "GitOperationFailed", message: message}
	}
	for name, c := range map[string]struct {
		before, after sourceOutcome
		want          string // the reason; empty for no Event
		severity      notify.Severity
	}{
		"the first artifact":          {sourceOutcome{}, fetched("a"), "NewArtifact", notify.Info},
		"nothing new":                 {fetched("a"), fetched("a"), "", ""},
		"another artifact":            {fetched("a"), fetched("b"), "NewArtifact", notify.Info},
		"a failure":                   {fetched("a"), failed("a", "no route"), "GitOperationFailed", notify.Error},
		"a failure at the first":      {sourceOutcome{}, failed("", "no route"), "GitOperationFailed", notify.Error},
		"the same failure":            {failed("a", "no route"), failed("a", "no route"), "", ""},
		"another failure":             {failed("a", "no route"), failed("a", "denied"), "GitOperationFailed", notify.Error},
		"the end of a failure":        {failed("a", "no route"), fetched("a"), "Succeeded", notify.Info},
		"a failure, then an artifact": {failed("a", "no route"), fetched("b"), "NewArtifact", notify.Info},
	} {
		got, ok := c.after.newsSince(c.before)
		if ok != (c.want != "") || ok && (got.Reason != c.want || got.Severity != c.severity) {
			t.Errorf("%s: %v %s %s, want %s %s", name, ok, got.Severity, got.Reason, c.severity, c.want)
		}
	}
}

func TestAnEventOfANewCommitHasItsSubject(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", longestSubject)
	for message, want := range map[string]string{
		"fix: a typo\n\nThe body.": "fix: a typo", " indented ": "indented", "": "", long: long, long + "b": long + "...",
		"clone https://me:hunter2@git.example.com/x": "clone https://***@git.example.com/x",
	} {
		if got := commitSubject(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
	news, _ := sourceOutcome{artifact: "a", ready: "True", message: "stored artifact for revision 'x'", subject: "fix: a typo"}.newsSince(sourceOutcome{})
	if news.Text != "stored artifact for commit 'fix: a typo'" {
		t.Error(news.Text)
	}
}
