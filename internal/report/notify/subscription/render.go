package subscription

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"reflect"
	"regexp"
	"slices"
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
	secrets bool // the text that is filled may name .secrets
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

var (
	mention         = regexp.MustCompile(`(^|[^\p{L}\p{N}])@`)
	mattermostMarks = strings.NewReplacer("[", "\\[", "]", "\\]", "<", "\\<", "~", "\\~")
)

// inMattermost escapes a value in Mattermost's Markdown: it mentions no user, and makes no link and no picture.
func inMattermost(s string) string {
	return mattermostMarks.Replace(mention.ReplaceAllString(s, "${1}@\u200b"))
}

// mattermostJSON is escapeJSON of a text of Mattermost.
func mattermostJSON(s string) string { return escapeJSON(inMattermost(s)) }

// slackJSON is escapeJSON of a text of Slack.
func slackJSON(s string) string { return escapeJSON(inSlack(s)) }

// text fills a template. escape is what becomes of the values of the Application in it, which are by others.
func (r *renderer) text(text string, escape func(string) string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	if !r.secrets && namesSecrets(text) {
		return "", errSecretHere
	}
	if usesSecretsOtherwise(text) {
		return "", errSecretKey
	}
	ofOthers := func(s string) string { return escape(route.WithoutMarks(s)) }
	printed := 0
	secrets := secretsIn(text, &printed)
	data := map[string]any{
		"app": escaped(r.subject.App, ofOthers), "context": r.config.context, "serviceType": r.kind, "recipient": route.WithoutMarks(r.outcome.Recipient), "secrets": secrets,
	}
	for name, functions := range map[string]map[string]any{"time": timeFunctions(r.subject.Now), "strings": stringFunctions(), "repo": r.subject.repoFunctions(ofOthers), "sync": syncFunctions()} {
		bounded := map[string]any{}
		for f, function := range functions {
			if reflect.TypeOf(function).Kind() == reflect.Func {
				function = r.set.Bounded(function)
			}
			bounded[f] = function
		}
		data[name] = bounded
	}
	out, err := r.set.Execute(text, nil, data)
	if err != nil {
		return "", err
	}
	return out, checkMarks(out, secrets, printed)
}

// escaped is a copy of a value with its texts escaped, without managedFields.
func escaped(v any, escape func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if key != "managedFields" {
				out[route.WithoutMarks(key)] = escaped(value, escape)
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
func (r *renderer) form(name string, t template) (route.Form, error) {
	message := verbatim
	switch r.kind {
	case kindSlack:
		message = inSlack
	case kindMattermost:
		message = inMattermost
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
		err = r.webhook(&f, t.Webhook[r.outcome.Service])
	case kindMattermost:
		f.Attachments, err = r.list("mattermost.attachments", t.Mattermost.Attachments, mattermostJSON)
	case kindAlertmanager:
		err = r.alert(&f, name, t.Alertmanager)
	default:
		f.Fields, err = r.fields(r.fieldsOf(t))
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

// webhook fills the texts of a webhook, whose path and body may have values of the Secret.
func (r *renderer) webhook(f *route.Form, t webhookTemplate) error {
	if err := r.fill(map[*string]string{&f.Method: t.Method}, escapeJSON); err != nil {
		return err
	}
	r.secrets = true
	defer func() { r.secrets = false }()
	return r.fill(map[*string]string{&f.Path: t.Path, &f.Body: t.Body}, escapeJSON)
}

func (r *renderer) slack(f *route.Form, t template) error {
	for _, part := range []struct {
		name, text string
		to         *json.RawMessage
	}{{"slack.attachments", t.Slack.Attachments, &f.Attachments}, {"slack.blocks", t.Slack.Blocks, &f.Blocks}} {
		var err error
		if *part.to, err = r.list(part.name, part.text, slackJSON); err != nil {
			return err
		}
	}
	return nil
}

// list fills a template of a list in JSON; nil for none.
func (r *renderer) list(name, text string, escape func(string) string) (json.RawMessage, error) {
	text, err := r.text(text, escape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	var list []any
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil, fmt.Errorf("%s: what it makes is no list in JSON", name)
	}
	return json.RawMessage(text), nil
}

// fieldsOf are the templates of the further fields of a service, with those that hold where it has none.
func (r *renderer) fieldsOf(t template) map[string]string {
	switch r.kind {
	case "opsgenie":
		return t.Opsgenie
	case "pagerduty":
		return t.PagerDuty
	case "pagerdutyv2":
		return t.PagerDutyV2
	case kindNewRelic:
		return withDefaults(t.NewRelic, map[string]string{
			"revision": revisionTemplate, "changelog": "{{(call .repo.GetCommitMetadata .app.status.sync.revision).Message}}", "user": "{{(call .repo.GetCommitMetadata .app.status.sync.revision).Author}}",
		})
	case kindGitHub:
		g := t.GitHub
		return withDefaults(map[string]string{"repoURL": g.RepoURLPath, "revision": g.RevisionPath, "state": g.Status.State, "label": g.Status.Label, "targetURL": g.Status.TargetURL},
			map[string]string{"repoURL": repositoryTemplate, "revision": revisionTemplate})
	}
	return nil
}

// The templates that Argo CD has where none is given.
const (
	repositoryTemplate = "{{.app.spec.source.repoURL}}"
	revisionTemplate   = "{{.app.status.operationState.syncResult.revision}}"
)

func withDefaults(given, defaults map[string]string) map[string]string {
	out := maps.Clone(defaults)
	for name, text := range given {
		if text != "" {
			out[name] = text
		}
	}
	return out
}

// fields fills templates by their names. What they make is a text of its own for the service: its end is the service's to find.
func (r *renderer) fields(templates map[string]string) (map[string]string, error) {
	var out map[string]string
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		text, err := r.text(templates[name], verbatim)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", r.kind, name, err)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = strings.TrimSpace(text)
	}
	return out, nil
}

// alert fills the labels and annotations of an alert, which has the name of the template where it has none.
func (r *renderer) alert(f *route.Form, name string, t alertmanagerTemplate) error {
	var err error
	if f.Labels, err = r.fields(t.Labels); err != nil {
		return err
	}
	if f.Annotations, err = r.fields(t.Annotations); err != nil {
		return err
	}
	maps.DeleteFunc(f.Labels, func(_, value string) bool { return value == "" })
	if len(f.Labels) > 0 && f.Labels["alertname"] == "" {
		f.Labels["alertname"] = name
	}
	f.Fields, err = r.fields(map[string]string{"generatorURL": cmp.Or(t.GeneratorURL, repositoryTemplate)})
	if at := f.Fields["generatorURL"]; err == nil && !strings.HasPrefix(at, "http") {
		f.Fields["generatorURL"] = repoURLToHTTPS(at)
	}
	return err
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
