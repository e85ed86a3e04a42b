package subscription

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
)

// number is a number that may be written as a text.
type number string

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	*n = number(strings.Trim(string(text), `"`))
	return nil
}

// put sets a key of a Provider's Secret, unless the value is empty.
func put(p *deliver.Loaded, key, value string) {
	if value != "" {
		p.SecretData[key] = []byte(value)
	}
}

// chosen sets a key to the value that a setting has for the recipient.
func chosen(p *deliver.Loaded, key, setting string, all map[string]string) error {
	put(p, key, all[p.Channel])
	if all[p.Channel] == "" {
		return fmt.Errorf("%s has no %q", setting, p.Channel)
	}
	return nil
}

func (s settings) slack(p *deliver.Loaded) error {
	p.Type, p.Username = "slack", s.Username
	put(p, "token", s.Token)
	if s.APIURL != "" {
		p.Address = strings.TrimSuffix(s.APIURL, "/") + "/chat.postMessage"
	}
	return nil
}

func (s settings) telegram(p *deliver.Loaded) error {
	p.Type = "telegram"
	put(p, "token", s.Token)
	return setChat(p)
}

// setChat reads a recipient as Argo CD does: one that begins with a hyphen is the ID of a chat, with that of a thread behind "|" or without, and another one is the name
// of a channel. The ID of a person is taken, too: no channel has a name of digits.
func setChat(p *deliver.Loaded) (err error) {
	if !strings.HasPrefix(p.Channel, "-") {
		if !strings.HasPrefix(p.Channel, "@") && strings.Trim(p.Channel, "0123456789") != "" {
			p.Channel = "@" + p.Channel
		}
		return nil
	}
	chat, thread, is := strings.Cut(p.Channel, "|")
	if !is {
		return nil
	}
	p.Channel = chat
	if p.Thread, err = strconv.ParseInt(thread, 10, 64); err != nil {
		return fmt.Errorf("the thread of the recipient %s is no number: want CHAT|THREAD", chat)
	}
	return nil
}

func (s settings) webex(p *deliver.Loaded) error {
	p.Type = "webex"
	put(p, "token", s.Token)
	if s.APIURL != "" {
		p.Address = strings.TrimSuffix(s.APIURL, "/") + "/v1/messages"
	}
	return nil
}

func (s settings) grafana(p *deliver.Loaded) error {
	p.Type = "grafana"
	p.Address = strings.TrimSuffix(strings.TrimSuffix(s.BaseURL, "/"), "/api")
	put(p, "token", s.APIKey)
	return nil
}

func (s settings) googleChat(p *deliver.Loaded) error {
	p.Type = "googlechat"
	return chosen(p, "address", "webhooks", s.Webhooks)
}

func (s settings) teams(p *deliver.Loaded) error {
	p.Type = "msteams"
	return chosen(p, "address", "recipientUrls", s.RecipientURLs)
}

func (s settings) email(p *deliver.Loaded) error {
	p.Type, p.Address, p.Username = "email", s.mailServer(), s.From
	put(p, "username", s.Username)
	put(p, "password", s.Password)
	return nil
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

func (s settings) webhook(p *deliver.Loaded) error {
	p.Type = payload.ArgoService + "webhook"
	put(p, "address", s.URL)
	put(p, "username", s.BasicAuth.Username)
	put(p, "password", s.BasicAuth.Password)
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

func (s settings) mattermost(p *deliver.Loaded) error {
	p.Type, p.Address = payload.ArgoService+"mattermost", s.APIURL
	put(p, "token", s.Token)
	return need("apiURL", s.APIURL)
}

// need is an error where one of some settings, each with its value behind it, is empty.
func need(settings ...string) error {
	for pair := range slices.Chunk(settings, 2) {
		if pair[1] == "" {
			return errors.New(pair[0] + " is not set")
		}
	}
	return nil
}

func (s settings) opsgenie(p *deliver.Loaded) error {
	host := cmp.Or(s.BaseURL, "api.opsgenie.com")
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	p.Type, p.Address = payload.ArgoService+"opsgenie", host
	return chosen(p, "token", "apiKeys", s.APIKeys)
}

func (s settings) pagerDutyEvents(p *deliver.Loaded) error {
	p.Type = payload.ArgoService + "pagerdutyv2"
	return chosen(p, "token", "serviceKeys", s.ServiceKeys)
}

func (s settings) pagerDuty(p *deliver.Loaded) error {
	p.Type, p.Username = payload.ArgoService+"pagerduty", s.From
	put(p, "token", s.Token)
	return need("token", s.Token, "from", s.From)
}

// alertmanager takes the first of several targets: the member that has an alert notifies, and the others learn of that.
func (s settings) alertmanager(p *deliver.Loaded) error {
	if len(s.Targets) == 0 {
		return errors.New("targets is not set")
	}
	at := url.URL{Scheme: cmp.Or(s.Scheme, "http"), Host: s.Targets[0], Path: cmp.Or(s.APIPath, "/api/v2/alerts")}
	p.Type, p.Address = payload.ArgoService+"alertmanager", at.String()
	put(p, "username", s.BasicAuth.Username)
	put(p, "password", s.BasicAuth.Password)
	put(p, "token", s.BearerToken)
	return nil
}

func (s settings) newRelic(p *deliver.Loaded) error {
	p.Type, p.Address = payload.ArgoService+"newrelic", s.APIURL
	put(p, "token", s.APIKey)
	return need("apiKey", s.APIKey)
}

func (s settings) pushover(p *deliver.Loaded) error {
	p.Type = payload.ArgoService + "pushover"
	put(p, "token", s.Token)
	return need("token", s.Token)
}

func (s settings) gitHub(p *deliver.Loaded) error {
	p.Type, p.Address = payload.ArgoService+"github", "https://api.github.com"
	if s.EnterpriseBaseURL != "" {
		p.Address = strings.TrimSuffix(strings.TrimSuffix(s.EnterpriseBaseURL, "/"), "/api/v3") + "/api/v3"
		put(p, "githubAppBaseURL", p.Address)
	}
	put(p, "githubAppID", string(s.AppID))
	put(p, "githubAppInstallationID", string(s.InstallationID))
	put(p, "githubAppPrivateKey", s.PrivateKey)
	return need("appID", string(s.AppID), "installationID", string(s.InstallationID), "privateKey", s.PrivateKey)
}
