// Package subscription answers: which messages do Argo CD's triggers and templates make of an Application?
//
// In: the data of argocd-notifications-cm and argocd-notifications-secret, an Application and its annotations, and a function that reads its commits.
// Out: which conditions of triggers hold for which recipients, the messages of their templates, and the services that take them.
// Promise: pure but for that function, of which few commits are asked; a condition and a template are bounded in time and memory, whatever they say; a fault of one trigger, template or service is named, and
// concerns no other; secrets are in services alone, not in messages.
// Not here: reading the objects, and what was sent before (controller/notices); sending (deliver).
package subscription

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// The bounds of what one Application subscribes to, and of one text of the ConfigMap.
const (
	mostSubscriptions = 100
	longestText       = 64 << 10
	longestRecipient  = 1 << 10 // it is in the key of a state, and in the name of a queue
)

// Config is what argocd-notifications-cm says.
type Config struct {
	context   map[string]string
	triggers  map[string][]condition
	templates map[string]template
	services  map[string]service
	defaults  []string
	ofService map[string][]string // default triggers of a service
	global    []global
}

// service is a service with its settings, in which $name stands for a key of the Secret.
type service struct {
	kind string
	text string
}

// template is a template; what is of services that truce does not send to is left out.
type template struct {
	Message string `json:"message"`
	Slack   struct {
		Attachments string `json:"attachments"`
		Blocks      string `json:"blocks"`
	} `json:"slack"`
	Email struct {
		Subject string `json:"subject"`
		Body    string `json:"body"`
	} `json:"email"`
	Webhook        map[string]webhookTemplate `json:"webhook"`
	Teams          teamsTemplate              `json:"teams"`
	TeamsWorkflows teamsTemplate              `json:"teams-workflows"`

	Mattermost   attachmentsTemplate  `json:"mattermost"`
	Opsgenie     map[string]string    `json:"opsgenie"`
	PagerDuty    map[string]string    `json:"pagerduty"`
	PagerDutyV2  map[string]string    `json:"pagerdutyv2"`
	NewRelic     map[string]string    `json:"newrelic"`
	Alertmanager alertmanagerTemplate `json:"alertmanager"`
	GitHub       gitHubTemplate       `json:"github"`
}

type attachmentsTemplate struct {
	Attachments string `json:"attachments"`
}

type alertmanagerTemplate struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	GeneratorURL string            `json:"generatorURL"`
}

type gitHubTemplate struct {
	RepoURLPath  string `json:"repoURLPath"`
	RevisionPath string `json:"revisionPath"`
	Status       struct {
		State     string `json:"state"`
		Label     string `json:"label"`
		TargetURL string `json:"targetURL"`
	} `json:"status"`
	// What is not sent.
	Deployment         any `json:"deployment"`
	PullRequestComment any `json:"pullRequestComment"`
	CheckRun           any `json:"checkRun"`
	RepositoryDispatch any `json:"repositoryDispatch"`
}

type webhookTemplate struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"body"`
}

type teamsTemplate struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Facts string `json:"facts"`
}

// Parse reads the data of argocd-notifications-cm. What is wrong with a key is a problem, and the others hold.
func Parse(data map[string]string) (*Config, []string) {
	c := &Config{context: map[string]string{}, triggers: map[string][]condition{}, templates: map[string]template{}, services: map[string]service{}, ofService: map[string][]string{}}
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text := data[key]
		err := fmt.Errorf("is longer than %d bytes", longestText)
		if len(text) <= longestText {
			err = c.read(key, text)
		}
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			problems = append(problems, key+": "+first)
		}
	}
	return c, problems
}

// read reads one key.
func (c *Config) read(key, text string) error {
	first, rest, _ := strings.Cut(key, ".")
	switch {
	case key == "context":
		return yaml.Unmarshal([]byte(text), &c.context)
	case key == "defaultTriggers":
		return yaml.Unmarshal([]byte(text), &c.defaults)
	case first == "defaultTriggers":
		var triggers []string
		err := yaml.Unmarshal([]byte(text), &triggers)
		c.ofService[rest] = triggers
		return err
	case first == "service":
		kind, name, _ := strings.Cut(rest, ".")
		c.services[cmp.Or(name, kind)] = service{kind, text}
	case first == "template":
		var t template
		if err := yaml.Unmarshal([]byte(text), &t); err != nil {
			return err
		}
		c.templates[rest] = t
		return c.unsent(t)
	case key == "subscriptions":
		return c.readGlobal(text)
	case first == "trigger":
		conditions, err := parseConditions(text)
		c.triggers[rest] = conditions
		return err
	}
	return nil
}

// unsent is an error that says what of a template is not sent. The rest of it is.
func (c *Config) unsent(t template) error {
	g := t.GitHub
	if g.Deployment == nil && g.PullRequestComment == nil && g.CheckRun == nil && g.RepositoryDispatch == nil {
		return nil
	}
	for _, s := range c.services { // they are read before the templates
		if s.kind == kindGitHub {
			return errors.New("github: truce writes the status of a commit alone, no deployment, pullRequestComment, checkRun and repositoryDispatch")
		}
	}
	return nil
}

// Outcome is what became of one condition of a trigger for one recipient.
type Outcome struct {
	Subscription
	Condition int
	Holds     bool
	// OncePer is the value of which one message is sent, of a condition that has one.
	OncePer string
	Once    bool
	send    []string
}

// Key names a condition and a recipient.
func (o Outcome) Key() string {
	return fmt.Sprintf("%s[%d]\x00%s\x00%s", o.Trigger, o.Condition, o.Service, o.Recipient)
}

// Judge evaluates the triggers of subscriptions. An error names a subscription that leads nowhere, or a condition of which nothing is known: it has no outcome.
func (c *Config) Judge(subject *Subject, subscriptions []Subscription) ([]Outcome, []error) {
	var out []Outcome
	var faults []error
	for _, s := range subscriptions {
		conditions, known := c.triggers[s.Trigger]
		service, served := c.services[s.Service]
		switch {
		case len(s.Recipient) > longestRecipient:
			s.Recipient = fmt.Sprintf("%.40s…", s.Recipient)
			faults = append(faults, fmt.Errorf("subscription %s: the recipient is longer than %d bytes", s, longestRecipient))
			continue
		case !known:
			faults = append(faults, fmt.Errorf("subscription %s: argocd-notifications-cm has no trigger.%s", s, s.Trigger))
			continue
		case !served:
			faults = append(faults, fmt.Errorf("subscription %s: argocd-notifications-cm has no service.%s", s, s.Service))
			continue
		case kinds[service.kind] == nil:
			faults = append(faults, fmt.Errorf("subscription %s: truce does not send by a service of type %s: want one of %s", s, service.kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")))
			continue
		}
		for i, condition := range conditions {
			o := Outcome{Subscription: s, Condition: i, send: condition.Send, Once: condition.OncePer != ""}
			var err error
			if o.Holds, o.OncePer, err = condition.judge(subject); err != nil {
				faults = append(faults, fmt.Errorf("subscription %s: trigger.%s[%d]: %w", s, s.Trigger, i, err))
				continue
			}
			out = append(out, o)
		}
	}
	return out, faults
}

// Forms returns the messages of an outcome that holds: one for each template.
func (c *Config) Forms(subject *Subject, o Outcome) ([]route.Form, error) {
	r := newRenderer(c, subject, o)
	var out []route.Form
	for _, name := range o.send {
		t, known := c.templates[name]
		if !known {
			return nil, fmt.Errorf("trigger.%s: argocd-notifications-cm has no template.%s", o.Trigger, name)
		}
		f, err := r.form(name, t)
		if err != nil {
			return nil, fmt.Errorf("template.%s: %w", name, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// Severity is how much a message about an Application matters: its health or its last operation says so.
func Severity(app map[string]any) notify.Severity {
	status, _ := app["status"].(map[string]any)
	health, _ := status["health"].(map[string]any)
	operation, _ := status["operationState"].(map[string]any)
	if health["status"] == "Degraded" || operation["phase"] == "Failed" || operation["phase"] == "Error" {
		return notify.Error
	}
	return notify.Info
}

// SetContext sets a value of the templates' context that the ConfigMap does not.
func (c *Config) SetContext(name, value string) { c.context[name] = cmp.Or(c.context[name], value) }
