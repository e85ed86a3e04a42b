package cli

import (
	"strings"

	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// message prints what Slack would get of a finding, by an Alert that names the app.
func (t *tour) message(n report.FindingEvent) error {
	body, err := slackBody(n)
	if err != nil {
		return err
	}
	t.steps.block("", "  Slack would get this, by a Provider of type slack and an Alert (docs/notifications.md):", "")
	t.steps.block(indented(strings.Split(body, "\n"))...)
	return nil
}

// slackBody is the request's body for an incoming webhook of Slack.
func slackBody(n report.FindingEvent) (string, error) {
	m := findings.Message(n, field.PathString(n.Finding.Path))
	m.About, m.At = object.ID{Kind: n.App.Kind, Namespace: n.App.Namespace, Name: n.App.Name}, n.At
	const kind = "slack"
	for _, c := range payload.JoinMessages(kind, []route.Note{route.Alert{}.Address(m)}) {
		r, err := payload.BuildRequest(payload.Target{Type: kind, Address: "https://hooks.slack.com/services/"}, c)
		return bodyText(r), err
	}
	return "", nil
}
