package controller

import (
	"errors"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/report"
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
		"the first artifact":     {sourceOutcome{}, fetched("a"), "NewArtifact", notify.Info},
		"nothing new":            {fetched("a"), fetched("a"), "", ""},
		"another artifact":       {fetched("a"), fetched("b"), "NewArtifact", notify.Info},
		"a failure":              {fetched("a"), failed("a", "no route"), "GitOperationFailed", notify.Error},
		"a failure at the first": {sourceOutcome{}, failed("", "no route"), "GitOperationFailed", notify.Error},
		"the same failure":       {failed("a", "no route"), failed("a", "no route"), "", ""},
		"the same failure of another port": {
			failed("a", "lookup git: read udp 10.1.1.7:39251->10.96.0.10:53: i/o timeout"), failed("a", "lookup git: read udp 10.1.1.7:40001->10.96.0.10:53: i/o timeout"), "", "",
		},
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

// TestAFailureThatOnlyVariesIsNoOther: what a server or the network says of one cause is another text at each try.
func TestAFailureThatOnlyVariesIsNoOther(t *testing.T) {
	t.Parallel()
	texts := []string{`dial tcp 10.0.0.1:443: i/o timeout; the server says "request 1"`, `dial tcp 10.0.0.2:443: i/o timeout; the server says "request 2"`, "another cause"}
	var forms, keys []string
	for _, text := range texts {
		n := notify.Event{Severity: notify.Error, Reason: "BuildFailed", Text: text, Revision: "main@sha1:a"}
		forms, keys = append(forms, matterOfNews(n, report.Report{}).Form), append(keys, messageKey([]notify.Event{n}))
	}
	causes := func(i, j int) bool {
		return hasAnotherCause(dialect.SourceState{Err: errors.New(texts[i])}, dialect.SourceState{Err: errors.New(texts[j])})
	}
	if forms[0] != forms[1] || keys[0] != keys[1] || causes(0, 1) {
		t.Errorf("one cause is two: %q, %q", forms[:2], keys[:2])
	}
	if forms[0] == forms[2] || keys[0] == keys[2] || !causes(0, 2) {
		t.Errorf("two causes are one: %q, %q", forms, keys)
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
