package subscription

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// The types of services.
const (
	kindSlack     = "slack"
	kindEmail     = "email"
	kindTeams     = "teams"
	kindWorkflows = "teams-workflows"
	kindWebhook   = "webhook"
	kindGoogle    = "googlechat"
	kindGrafana   = "grafana"
	kindTelegram  = "telegram"
	kindWebex     = "webex"
)

var kinds = []string{kindEmail, kindGoogle, kindGrafana, kindSlack, kindTeams, kindWorkflows, kindTelegram, kindWebex, kindWebhook}

// sendTimeout is how long a service may take.
const sendTimeout = 15 * time.Second

// settings are those of all services.
type settings struct {
	Token    string `json:"token"`
	Username string `json:"username"`
	APIURL   string `json:"apiURL"`

	RecipientURLs map[string]string `json:"recipientUrls"`
	Webhooks      map[string]string `json:"webhooks"` // of Google Chat, by their names
	GrafanaURL    string            `json:"apiUrl"`
	APIKey        string            `json:"apiKey"`

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
		out.SecretData["secret "+key] = value
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
	if err := set.apply(&out, s.kind, recipient); err != nil {
		return out, true, fmt.Errorf("service.%s: %w", name, err)
	}
	return out, true, nil
}

// apply sets what the type of a service has.
func (s settings) apply(p *deliver.Loaded, kind, recipient string) error {
	put := func(key, value string) {
		if value != "" {
			p.SecretData[key] = []byte(value)
		}
	}
	switch kind {
	case kindSlack:
		p.Type, p.Username = "slack", s.Username
		put("token", s.Token)
		if s.APIURL != "" {
			p.Address = strings.TrimSuffix(s.APIURL, "/") + "/chat.postMessage"
		}
	case kindTelegram:
		p.Type = kindTelegram
		put("token", s.Token)
	case kindWebex:
		p.Type = kindWebex
		put("token", s.Token)
		if s.APIURL != "" {
			p.Address = strings.TrimSuffix(s.APIURL, "/") + "/v1/messages"
		}
	case kindGrafana:
		p.Type = kindGrafana
		p.Address = strings.TrimSuffix(strings.TrimSuffix(s.GrafanaURL, "/"), "/api")
		put("token", s.APIKey)
	case kindGoogle:
		p.Type = kindGoogle
		put("address", s.Webhooks[recipient])
		if s.Webhooks[recipient] == "" {
			return fmt.Errorf("webhooks has no %q", recipient)
		}
	case kindTeams, kindWorkflows:
		p.Type = "msteams"
		put("address", s.RecipientURLs[recipient])
		if s.RecipientURLs[recipient] == "" {
			return fmt.Errorf("recipientUrls has no %q", recipient)
		}
	case kindEmail:
		p.Type, p.Address, p.Username = "email", s.mailServer(), s.From
		put("username", s.Username)
		put("password", s.Password)
	case kindWebhook:
		p.Type = payload.ArgoWebhook
		put("address", s.URL)
		put("username", s.BasicAuth.Username)
		put("password", s.BasicAuth.Password)
		return s.putHeaders(p)
	default:
		return errors.New("truce does not send by a service of type " + kind)
	}
	return nil
}

func (s settings) putHeaders(p *deliver.Loaded) error {
	headers := map[string]string{}
	for _, h := range s.Headers {
		headers[h.Name] = h.Value
	}
	text, err := yaml.Marshal(maps.Clone(headers))
	if len(headers) > 0 {
		p.SecretData["headers"] = text
	}
	for name, value := range headers { // each by itself is looked for in errors
		p.SecretData["header "+name] = []byte(value)
	}
	return err
}

func (s settings) mailServer() string {
	port, scheme := s.Port, "smtp"
	switch port {
	case 0:
		port = 587
	case 465:
		scheme = "smtps"
	}
	return scheme + "://" + net.JoinHostPort(s.Host, strconv.Itoa(port))
}
