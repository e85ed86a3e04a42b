package payload

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// severityText is the word of on-call tools.
func severityText(c Content) string {
	if c.IsError() {
		return "error"
	}
	return "info"
}

// factMap are the facts by their names.
func factMap(c Content) map[string]string {
	out := map[string]string{}
	for _, f := range c.Facts {
		out[f.Name] = f.Value
	}
	return out
}

// detailsOf are the facts, as many as Opsgenie takes: 8,000 characters in all.
func detailsOf(c Content) map[string]string {
	out, room := map[string]string{}, 8000
	for _, f := range c.Facts {
		name, value := shorten(f.Name, 100), shorten(f.Value, 1000)
		if room -= len([]rune(name)) + len([]rune(value)); room < 0 {
			break
		}
		out[name] = value
	}
	return out
}

// pagerDuty sends to the Events API v2: an error triggers, the end of its matter resolves, and other news is a change event.
type pagerDuty struct{}

func (pagerDuty) build(t Target, c Content) (Request, error) {
	key := cmp.Or(t.Channel, t.Token)
	if key == "" {
		return Request{}, missing("pagerduty", "spec.channel, or the key token in its Secret: the integration key")
	}
	m := c.Message
	payload := map[string]any{"summary": shorten(c.Title+": "+c.Text(), 1024), "source": reporter + " " + c.Title, "timestamp": timestampOf(m.At), "custom_details": factMap(c)}
	address := strings.TrimSuffix(cmp.Or(t.Address, "https://events.pagerduty.com"), "/")
	address = strings.TrimSuffix(address, "/v2/enqueue")
	if !c.IsError() && !c.Ended {
		return postJSON(address+"/v2/change/enqueue", map[string]any{"routing_key": key, "payload": payload})
	}
	body := map[string]any{"routing_key": key, "event_action": "trigger", "dedup_key": hashText(c.Key), "payload": payload}
	payload["severity"], payload["component"], payload["group"], payload["class"] = severityText(c), m.About.Name, m.About.Namespace, m.Reason
	if c.Ended {
		body["event_action"] = "resolve"
	}
	return postJSON(address+"/v2/enqueue", body)
}

// opsgenie creates an alert, and closes it at the end of its matter.
type opsgenie struct{}

func (opsgenie) build(t Target, c Content) (Request, error) {
	if t.Token == "" {
		return Request{}, missing("opsgenie", "the key token in its Secret")
	}
	address := strings.TrimSuffix(cmp.Or(t.Address, "https://api.opsgenie.com/v2/alerts"), "/")
	alias := hashText(c.Key)
	if c.Ended {
		r, err := postJSON(address+"/"+url.PathEscape(alias)+"/close?identifierType=alias", map[string]any{"source": reporter, "note": shorten(c.Text(), 20000)})
		return authorized(r, "GenieKey", t.Token), err
	}
	priority := "P5"
	if c.IsError() {
		priority = "P3"
	}
	r, err := postJSON(address, map[string]any{
		"message": shorten(c.Title, 130), "alias": alias, "description": shorten(c.Text(), 15000), "source": reporter, "priority": priority,
		"entity": c.Title, "details": detailsOf(c),
	})
	return authorized(r, "GenieKey", t.Token), err
}

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}
