package payload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/pattern"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// The services of Argo CD whose messages have another form than those of the Providers of the same receivers. A request that is tried again makes no second
// alert where the receiver has a key for that.

// unfit is an error about what a template has made.
func unfit(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{route.ErrUnfit}, args...)...)
}

// formOf is the form of a content, which has a text.
func formOf(c Content) route.Form {
	f := route.Form{}
	if c.Form != nil {
		f = *c.Form
	}
	f.Text = cmp.Or(f.Text, c.Text(), c.Title)
	return f
}

// oneOf is an error where a field of a template has another value than the receiver takes.
func oneOf(field, value string, want ...string) error {
	if value == "" || slices.Contains(want, value) {
		return nil
	}
	return unfit("%s is %.40q: want one of %s", field, value, strings.Join(want, ", "))
}

// put sets those of the fields that are not empty.
func put(to map[string]any, from map[string]string, names ...string) {
	for _, name := range names {
		if from[name] != "" {
			to[name] = shorten(from[name], 1024)
		}
	}
}

// argoOpsgenie creates an alert for a team.
type argoOpsgenie struct{}

var uuidForm = pattern.OnDemand(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (argoOpsgenie) build(t Target, c Content) (Request, error) {
	f := formOf(c)
	if err := oneOf("opsgenie.priority", f.Fields["priority"], "P1", "P2", "P3", "P4", "P5"); err != nil {
		return Request{}, err
	}
	team := map[string]string{"type": "team", "name": t.Channel}
	if uuidForm().MatchString(t.Channel) {
		team = map[string]string{"type": "team", "id": t.Channel}
	}
	body := map[string]any{
		"message": shorten(f.Text, 130), "description": shorten(cmp.Or(f.Fields["description"], f.Text), 15000), "source": reporter, "responders": []any{team},
		"alias": shorten(cmp.Or(f.Fields["alias"], hashText(c.ID)), 512),
	}
	put(body, f.Fields, "priority")
	r, err := postJSON(joinURL(t.Address, "/v2/alerts"), body)
	return authorized(r, "GenieKey", t.Token), err
}

// argoPagerDuty triggers an event of the Events API v2.
type argoPagerDuty struct{}

func (argoPagerDuty) build(t Target, c Content) (Request, error) {
	f := formOf(c)
	if err := oneOf("pagerdutyv2.severity", f.Fields["severity"], "critical", "error", "warning", "info"); err != nil {
		return Request{}, err
	}
	event := map[string]any{
		"summary": shorten(cmp.Or(f.Fields["summary"], f.Text), 1024), "severity": cmp.Or(f.Fields["severity"], severityText(c)),
		"source": shorten(cmp.Or(f.Fields["source"], reporter+" "+c.Title), 1024), "timestamp": timestampOf(c.Message.At),
	}
	put(event, f.Fields, "component", "group", "class")
	body := map[string]any{"routing_key": t.Token, "event_action": "trigger", "dedup_key": hashText(c.ID), "payload": event, "client": reporter}
	if f.Fields["url"] != "" {
		body["client_url"] = f.Fields["url"]
	}
	return postJSON(joinURL(cmp.Or(t.Address, "https://events.pagerduty.com"), "/v2/enqueue"), body)
}

// argoIncident creates an incident of PagerDuty's REST API at a service.
type argoIncident struct{}

func (argoIncident) build(t Target, c Content) (Request, error) {
	f := formOf(c)
	if err := oneOf("pagerduty.urgency", f.Fields["urgency"], "high", "low"); err != nil {
		return Request{}, err
	}
	incident := map[string]any{
		"type": "incident", "title": shorten(cmp.Or(f.Fields["title"], f.Text), 255), "service": map[string]string{"id": t.Channel, "type": "service_reference"},
		"incident_key": hashText(c.ID),
	}
	put(incident, f.Fields, "urgency")
	if f.Fields["body"] != "" {
		incident["body"] = map[string]string{"type": "incident_body", "details": shorten(f.Fields["body"], 60000)}
	}
	if f.Fields["priorityID"] != "" {
		incident["priority"] = map[string]string{"id": f.Fields["priorityID"], "type": "priority_reference"}
	}
	r, err := postJSON(joinURL(cmp.Or(t.Address, "https://api.pagerduty.com"), "/incidents"), map[string]any{"incident": incident})
	if err == nil {
		r.Headers["From"], r.Headers["Accept"] = t.Username, "application/vnd.pagerduty+json;version=2"
		r.Headers["Authorization"] = "Token token=" + t.Token
	}
	return r, err
}

// argoAlert posts an alert with the labels of the template.
type argoAlert struct{}

func (argoAlert) build(t Target, c Content) (Request, error) {
	f := formOf(c)
	if len(f.Labels) == 0 {
		return Request{}, unfit("it has no alertmanager.labels")
	}
	alert := map[string]any{"labels": f.Labels, "annotations": f.Annotations, "startsAt": timestampOf(c.Message.At)}
	if u, err := url.Parse(f.Fields["generatorURL"]); err == nil && u.Host != "" {
		alert["generatorURL"] = u.String()
	}
	r, err := postJSON(t.Address, []any{alert})
	if t.Login != "" || t.Password != "" {
		return authorized(r, "Basic", basicText(t.Login, t.Password)), err
	}
	return authorized(r, "Bearer", t.Token), err
}

// argoMattermost posts to a channel as a bot.
type argoMattermost struct{}

func (argoMattermost) build(t Target, c Content) (Request, error) {
	f := formOf(c)
	body := map[string]any{"channel_id": t.Channel, "message": shorten(f.Text, 16000)}
	if len(f.Attachments) > 0 {
		body["props"] = map[string]json.RawMessage{"attachments": f.Attachments}
	}
	r, err := postJSON(joinURL(t.Address, "/api/v4/posts"), body)
	return authorized(r, "Bearer", t.Token), err
}

// argoDeployment marks a deployment at an application of New Relic.
type argoDeployment struct{}

func (argoDeployment) build(t Target, c Content) (Request, error) {
	f := formOf(c)
	deployment := map[string]any{"description": shorten(cmp.Or(f.Fields["description"], f.Text), 65535)}
	put(deployment, f.Fields, "revision", "changelog", "user")
	address := strings.TrimSuffix(cmp.Or(t.Address, "https://api.newrelic.com"), "/") + "/v2/applications/" + url.PathEscape(t.Channel) + "/deployments.json"
	r, err := postJSON(address, map[string]any{"deployment": deployment})
	if err == nil {
		r.Headers["X-Api-Key"] = t.Token
	}
	return r, err
}

// argoPushover sends a message to a user or group of Pushover.
type argoPushover struct{}

func (argoPushover) build(t Target, c Content) (Request, error) {
	return postJSON(joinURL(cmp.Or(t.Address, "https://api.pushover.net"), "/1/messages.json"), map[string]string{"token": t.Token, "user": t.Channel, "message": shorten(formOf(c).Text, 1024)})
}

// argoStatus writes a commit status of GitHub. The template names the repository and the commit; the server is that of the service.
type argoStatus struct{}

var commitHash = pattern.OnDemand(`^[0-9a-f]{40}$|^[0-9a-f]{64}$`)

func (argoStatus) build(t Target, c Content) (Request, error) {
	f := formOf(c)
	state := f.Fields["state"]
	if state == "" {
		return Request{}, unfit("it has no github.status.state")
	}
	if err := oneOf("github.status.state", state, "error", "failure", "pending", "success"); err != nil {
		return Request{}, err
	}
	of, err := parseRepository("github", f.Fields["repoURL"])
	switch {
	case err != nil || len(of.path) != 2:
		return Request{}, unfit("github.repoURLPath names no repository of GitHub")
	case gitHubAPI(of) != strings.TrimSuffix(t.Address, "/"):
		return Request{}, unfit("github.repoURLPath names a repository at another server than the service's")
	case !commitHash().MatchString(f.Fields["revision"]):
		return Request{}, unfit("github.revisionPath names no commit")
	}
	body := map[string]any{"state": state, "context": shorten(cmp.Or(f.Fields["label"], "continuous-delivery/"+c.Message.About.Name), 255), "description": shorten(f.Text, longestDescription)}
	if f.Fields["targetURL"] != "" {
		body["target_url"] = f.Fields["targetURL"]
	}
	r, err := postJSON(strings.TrimSuffix(t.Address, "/")+"/repos/"+of.escaped()+"/statuses/"+f.Fields["revision"], body)
	if err == nil {
		r.Headers["Accept"] = "application/vnd.github+json"
	}
	return authorized(r, "Bearer", t.Token), err
}
