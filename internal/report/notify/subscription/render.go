package subscription

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"reflect"
	"strings"

	"github.com/truce-gitops/truce/internal/render/gotemplate"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// renderer fills the templates of one message.
type renderer struct {
	set     *gotemplate.Set
	config  *Config
	subject *Subject
	outcome Outcome
	kind    string
}

func newRenderer(c *Config, s *Subject, o Outcome) *renderer {
	return &renderer{set: gotemplate.NewSet(), config: c, subject: s, outcome: o, kind: c.services[o.Service].kind}
}

// verbatim leaves a value of the Application as it is.
func verbatim(s string) string { return s }

// escapeJSON escapes a value that a template puts between quotation marks.
func escapeJSON(s string) string {
	text, _ := json.Marshal(s) // a string
	return string(text[1 : len(text)-1])
}

var slackMarks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// inSlack escapes a value in Slack's mrkdwn: without its brackets <!channel> is no mention.
func inSlack(s string) string { return slackMarks.Replace(s) }

// slackJSON is escapeJSON of a text of Slack.
func slackJSON(s string) string { return escapeJSON(inSlack(s)) }

// text fills a template. escape is what becomes of the values of the Application in it, which are by others.
func (r *renderer) text(text string, escape func(string) string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	data := map[string]any{
		"app": escaped(r.subject.App, escape), "context": r.config.context, "serviceType": r.kind, "recipient": r.outcome.Recipient,
	}
	for name, functions := range map[string]map[string]any{"time": timeFunctions(r.subject.Now), "strings": stringFunctions(), "repo": r.subject.repoFunctions(escape), "sync": syncFunctions()} {
		bounded := map[string]any{}
		for f, function := range functions {
			if reflect.TypeOf(function).Kind() == reflect.Func {
				function = r.set.Bounded(function)
			}
			bounded[f] = function
		}
		data[name] = bounded
	}
	return r.set.Execute(text, nil, data)
}

// escaped is a copy of a value with its texts escaped, without managedFields.
func escaped(v any, escape func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if key != "managedFields" {
				out[key] = escaped(value, escape)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = escaped(value, escape)
		}
		return out
	case string:
		return escape(v)
	}
	return v
}

// form fills those texts of a template that are for the service.
func (r *renderer) form(t template) (route.Form, error) {
	message := verbatim
	if r.kind == kindSlack {
		message = inSlack
	}
	text, err := r.text(t.Message, message)
	if err != nil {
		return route.Form{}, err
	}
	f := route.Form{Text: strings.TrimSpace(text)}
	switch r.kind {
	case kindSlack:
		err = r.slack(&f, t)
	case kindEmail:
		err = r.fill(map[*string]string{&f.Subject: t.Email.Subject}, verbatim)
		if err == nil {
			err = r.fill(map[*string]string{&f.Body: t.Email.Body}, html.EscapeString)
		}
	case kindTeams:
		err = r.teams(&f, t.Teams)
	case kindWorkflows:
		err = r.teams(&f, t.TeamsWorkflows)
	case kindWebhook:
		w := t.Webhook[r.outcome.Service]
		err = r.fill(map[*string]string{&f.Method: w.Method, &f.Path: w.Path, &f.Body: w.Body}, escapeJSON)
	}
	return f, err
}

func (r *renderer) fill(texts map[*string]string, escape func(string) string) error {
	for to, text := range texts {
		var err error
		if *to, err = r.text(text, escape); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) slack(f *route.Form, t template) error {
	for _, part := range []struct {
		name, text string
		to         *json.RawMessage
	}{{"slack.attachments", t.Slack.Attachments, &f.Attachments}, {"slack.blocks", t.Slack.Blocks, &f.Blocks}} {
		text, err := r.text(part.text, slackJSON)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		var list []any
		if json.Unmarshal([]byte(text), &list) != nil {
			return fmt.Errorf("%s: what it makes is no list in JSON", part.name)
		}
		*part.to = json.RawMessage(text)
	}
	return nil
}

func (r *renderer) teams(f *route.Form, t teamsTemplate) error {
	var text, facts string
	if err := r.fill(map[*string]string{&f.Title: t.Title, &text: t.Text}, verbatim); err != nil {
		return err
	}
	if strings.TrimSpace(text) != "" {
		f.Text = strings.TrimSpace(text)
	}
	if err := r.fill(map[*string]string{&facts: t.Facts}, escapeJSON); err != nil || strings.TrimSpace(facts) == "" {
		return err
	}
	if json.Unmarshal([]byte(facts), &f.Facts) != nil {
		return errors.New("facts: what it makes is no list of names and values in JSON")
	}
	return nil
}
