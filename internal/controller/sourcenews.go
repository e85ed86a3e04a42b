package controller

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/source"
)

// sourceOutcome is what a source's status says of its newest fetch. The zero value is that of a source that was not fetched yet.
type sourceOutcome struct {
	artifact               string // its digest, or its revision where it has none
	revision               string
	ready, reason, message string // of the condition Ready
	subject                string // of the artifact's commit, for a GitRepository
}

func outcomeOf(status object.Object) sourceOutcome {
	text := func(path ...string) string {
		s, _ := status.At(path...).(string)
		return s
	}
	out := sourceOutcome{revision: text("artifact", "revision")}
	out.artifact = cmp.Or(text("artifact", "digest"), out.revision)
	conditions, _ := status.At("conditions").([]any)
	for _, v := range conditions {
		if c, _ := v.(map[string]any); c["type"] == "Ready" {
			out.ready, _ = c["status"].(string)
			out.reason, _ = c["reason"].(string)
			out.message, _ = c["message"].(string)
		}
	}
	return out
}

// newsSince is what an Event says of a fetch: a new artifact, a failure that was not reported yet, or the end of one, with Flux's reasons. It returns
// false where there is nothing to say.
func (o sourceOutcome) newsSince(before sourceOutcome) (notify.Message, bool) {
	m := notify.Message{Event: notify.Event{Severity: notify.Info, Reason: o.reason, Text: o.message, Revision: o.revision}}
	failed := before.ready == "False"
	if failed {
		m.Matter = notify.Matter{Kind: matter.Failure, Phase: notify.Ends}
	}
	switch {
	case o.ready == "False":
		m.Severity = notify.Error
		m.Matter = notify.Matter{Kind: matter.Failure, Phase: notify.Opens, Form: matter.FailureForm(o.reason, o.message)}
		return m, !failed || m.Matter.Form != matter.FailureForm(before.reason, before.message)
	case o.artifact != before.artifact:
		m.Reason = "NewArtifact"
		if o.subject != "" {
			m.Text = fmt.Sprintf("stored artifact for commit '%s'", o.subject)
		}
		return m, true
	}
	return m, failed
}

// longestSubject bounds a commit's subject in an Event, as Flux does.
const longestSubject = 50

// commitSubject is the first line of a commit's message, without secrets in it.
func commitSubject(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	text := []rune(redact.MaskText(strings.TrimSpace(line)))
	if len(text) > longestSubject {
		return string(text[:longestSubject]) + "..."
	}
	return string(text)
}

// reportSourceNews writes an Event about what a status that has just been written says for the first time. A restart says nothing again: what
// was said is in the status that truce finds.
func (c *Controller) reportSourceNews(known *sourceEntry, cr object.Object, stored source.Artifact, status object.Object) {
	after := outcomeOf(status)
	if cr.GVK() == registry.GitRepositories {
		after.subject = commitSubject(stored.Message)
	}
	if after.ready != "True" && after.ready != "False" {
		return // a fetch is on the way
	}
	c.mu.Lock()
	before := known.outcome
	first := before == (sourceOutcome{})
	if first {
		have, _ := cr.At("status").(map[string]any)
		before = outcomeOf(have)
	}
	known.outcome = after
	c.mu.Unlock()
	m := messageAbout(cr)
	news, ok := after.newsSince(before)
	switch {
	case ok:
		m.Event, m.Matter = news.Event, news.Matter
		c.enqueueEvent(m, cr.ResourceVersion())
	case first && c.Outlet != nil: // an earlier process may have ended before it sent it
		news, _ = after.newsSince(after.opposite())
		m.Event, m.Matter = news.Event, news.Matter
		c.Outlet.AcceptAgain(m)
	}
}

// opposite is an outcome since which nothing is new but whether the fetch has failed.
func (o sourceOutcome) opposite() sourceOutcome {
	before := sourceOutcome{artifact: o.artifact, ready: "True"}
	if o.ready == "True" {
		before.ready = "False"
	}
	return before
}
