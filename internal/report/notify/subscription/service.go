package subscription

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// The types of services whose templates have more than a message.
const (
	kindSlack        = "slack"
	kindEmail        = "email"
	kindTeams        = "teams"
	kindWorkflows    = "teams-workflows"
	kindWebhook      = "webhook"
	kindMattermost   = "mattermost"
	kindAlertmanager = "alertmanager"
	kindNewRelic     = "newrelic"
	kindGitHub       = "github"
)

// kinds are the types of services, and what sets what each has.
var kinds = map[string]func(settings, *deliver.Loaded) error{
	kindSlack: settings.slack, kindEmail: settings.email, kindTeams: settings.teams, kindWorkflows: settings.teams, kindWebhook: settings.webhook, kindMattermost: settings.mattermost,
	kindAlertmanager: settings.alertmanager, kindNewRelic: settings.newRelic, kindGitHub: settings.gitHub,
	"googlechat": settings.googleChat, "grafana": settings.grafana, "telegram": settings.telegram, "webex": settings.webex,
	"opsgenie": settings.opsgenie, "pagerduty": settings.pagerDuty, "pagerdutyv2": settings.pagerDutyEvents, "pushover": settings.pushover,
}

// sendTimeout is how long a service may take.
const sendTimeout = 15 * time.Second

// settings are those of all services.
type settings struct {
	Token    string `json:"token"`
	Username string `json:"username"`
	APIURL   string `json:"apiURL"`

	RecipientURLs map[string]string `json:"recipientUrls"`
	Webhooks      map[string]string `json:"webhooks"` // of Google Chat, by their names
	BaseURL       string            `json:"apiUrl"`   // of Grafana and Opsgenie
	APIKey        string            `json:"apiKey"`
	APIKeys       map[string]string `json:"apiKeys"`     // of Opsgenie, by team
	ServiceKeys   map[string]string `json:"serviceKeys"` // of PagerDuty, by service

	Targets     []string `json:"targets"` // of Alertmanager
	Scheme      string   `json:"scheme"`
	APIPath     string   `json:"apiPath"`
	BearerToken string   `json:"bearerToken"`

	AppID             number `json:"appID"` // of GitHub
	InstallationID    number `json:"installationID"`
	PrivateKey        string `json:"privateKey"`
	EnterpriseBaseURL string `json:"enterpriseBaseURL"`

	Host     string `json:"host"`
	Port     int    `json:"port"`
	Password string `json:"password"`
	From     string `json:"from"`

	URL     string `json:"url"`
	Headers []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"headers"`
	BasicAuth struct {
		Username string `json:"username"`
		Password string `json:"password"`
	} `json:"basicAuth"`
	Insecure     bool `json:"insecureSkipVerify"`
	InsecureMail bool `json:"insecure_skip_verify"`
}

var reference = regexp.MustCompile(`\$[-\w]+(\.[-\w]+)*`)

// resolve puts the values of the Secret's keys in the place of their names, in a value that was read of YAML.
func resolve(v any, secret map[string][]byte) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = resolve(value, secret)
		}
	case []any:
		for i, value := range v {
			v[i] = resolve(value, secret)
		}
	case string:
		return reference.ReplaceAllStringFunc(v, func(name string) string {
			if value, there := secret[name[1:]]; there {
				return strings.TrimSpace(string(value))
			}
			return name
		})
	}
	return v
}

// Provider returns the service of a name as a Provider for one recipient; false for one that is not there. All values of the Secret are in its data, so
// that no error shows one.
func (c *Config) Provider(key route.Key, name, recipient string, secret map[string][]byte) (deliver.Loaded, bool, error) {
	s, there := c.services[name]
	if !there {
		return deliver.Loaded{}, false, nil
	}
	out := deliver.Loaded{Provider: route.Provider{Key: key, Timeout: sendTimeout, Channel: recipient}, SecretData: map[string][]byte{}}
	for key, value := range secret {
		out.SecretData[deliver.TemplateKey+key] = value
	}
	var raw any
	if err := yaml.Unmarshal([]byte(s.text), &raw); err != nil {
		return out, true, fmt.Errorf("service.%s: is no YAML", name)
	}
	text, err := yaml.Marshal(resolve(raw, secret))
	if err != nil {
		return out, true, fmt.Errorf("service.%s: is no YAML", name)
	}
	var set settings
	if yaml.Unmarshal(text, &set) != nil {
		return out, true, fmt.Errorf("service.%s: a setting is of another type", name)
	}
	if set.Insecure || set.InsecureMail {
		return out, true, fmt.Errorf("service.%s: truce verifies every server: remove insecureSkipVerify, and add the CA to those of truce's image", name)
	}
	apply, sends := kinds[s.kind]
	if !sends {
		return out, true, fmt.Errorf("service.%s: truce does not send by a service of type %s", name, s.kind)
	}
	if err := apply(set, &out); err != nil {
		return out, true, fmt.Errorf("service.%s: %w", name, err)
	}
	return out, true, nil
}
