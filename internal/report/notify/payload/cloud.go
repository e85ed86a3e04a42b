package payload

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/pattern"
)

// pubSub publishes the form of Flux's events on a topic of Google Cloud: the address is a project, the channel a topic. The Secret's headers are attributes.
type pubSub struct{}

var (
	projectForm = pattern.OnDemand(`^([a-z0-9.-]{1,63}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	topicForm   = pattern.OnDemand(`^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$`)
)

func (pubSub) build(t Target, c Content) (Request, error) {
	switch {
	case !projectForm().MatchString(t.Address):
		return Request{}, missing(t.Type, "the ID of a project in spec.address")
	case !topicForm().MatchString(t.Channel) || strings.HasPrefix(t.Channel, "goog"):
		return Request{}, missing(t.Type, "the ID of a topic in spec.channel")
	case t.Token == "":
		return Request{}, missing(t.Type, "the key token in its Secret: the key of a service account in JSON; or an identity at Google Cloud")
	}
	event, err := postJSON("", newEvent(c))
	if err != nil {
		return Request{}, err
	}
	message := map[string]any{"data": base64.StdEncoding.EncodeToString(event.Body)}
	if len(t.Headers) > 0 {
		message["attributes"] = t.Headers
	}
	address := "https://pubsub.googleapis.com/v1/projects/" + url.PathEscape(t.Address) + "/topics/" + url.PathEscape(t.Channel) + ":publish"
	r, err := postJSON(address, map[string]any{"messages": []any{message}})
	return authorized(r, "Bearer", t.Token), err
}

// eventHub sends the form of Flux's events to an event hub of Azure. The address is a connection string with a shared access key; else it is the hub, the channel the
// namespace, and the token one of Microsoft Entra ID.
type eventHub struct{}

var (
	namespaceForm = pattern.OnDemand(`^(?:sb://)?([a-z][a-z0-9-]{4,48}[a-z0-9])(\.servicebus\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net))?/?$`)
	hubForm       = pattern.OnDemand(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$`)
)

// signatureLife is how long a signature holds after the time of its message: longer than the message is worth sending.
const signatureLife = 25 * time.Hour

func (eventHub) build(t Target, c Content) (Request, error) {
	host, hub := hubOfToken(t)
	by := map[string]string(nil)
	if strings.Contains(t.Address, "SharedAccessKey=") {
		by = connectionOf(t.Address)
		host, hub = by["Endpoint"], cmp.Or(by["EntityPath"], t.Channel)
	}
	at := namespaceForm().FindStringSubmatch(host)
	switch {
	case by == nil && !hubForm().MatchString(hub):
		return Request{}, missing(t.Type, "an address: the name of an event hub, or a connection string as the key address of its Secret")
	case by == nil && at == nil:
		return Request{}, missing(t.Type, "a namespace of Event Hubs in spec.channel")
	case by == nil && t.Token == "":
		return Request{}, missing(t.Type, "the key token in its Secret, a connection string, or an identity at Azure")
	case at == nil:
		return Request{}, missing(t.Type, "Endpoint in the connection string: a namespace of Event Hubs")
	case !hubForm().MatchString(hub):
		return Request{}, missing(t.Type, "the name of an event hub in spec.channel, or EntityPath in the connection string")
	}
	resource := "https://" + at[1] + cmp.Or(at[2], ".servicebus.windows.net") + "/" + hub
	r, err := postJSON(resource+"/messages?timeout=60&api-version=2014-01", newEvent(c))
	if err != nil {
		return r, err
	}
	r.Headers["Content-Type"] = "application/atom+xml;type=entry;charset=utf-8" // as the documentation has it, whatever the body is
	if by == nil {
		return authorized(r, "Bearer", t.Token), nil
	}
	if by["SharedAccessKeyName"] == "" || by["SharedAccessKey"] == "" {
		return Request{}, errors.New("the connection string lacks SharedAccessKeyName or SharedAccessKey")
	}
	r.Headers["Authorization"] = sharedAccess(resource, by["SharedAccessKeyName"], by["SharedAccessKey"], c.Message.At.Add(signatureLife))
	return r, nil
}

// hubOfToken returns the namespace and the hub of a target that has no connection string: as in Flux the channel names the namespace, and the address the hub. If one of them
// alone is the full name of a namespace, that is the namespace.
func hubOfToken(t Target) (namespace, hub string) {
	isFull := func(name string) bool {
		at := namespaceForm().FindStringSubmatch(name)
		return at != nil && at[2] != ""
	}
	if isFull(t.Address) && !isFull(t.Channel) {
		return t.Address, t.Channel
	}
	return t.Channel, t.Address
}

// connectionOf reads a connection string: NAME=VALUE;NAME=VALUE.
func connectionOf(text string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out
}

// sharedAccess returns a shared access signature (https://learn.microsoft.com/rest/api/eventhub/generate-sas-token).
func sharedAccess(resource, name, key string, until time.Time) string {
	of := url.QueryEscape(resource)
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s\n%d", of, until.Unix())
	sum := url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return fmt.Sprintf("SharedAccessSignature sr=%s&sig=%s&se=%d&skn=%s", of, sum, until.Unix(), url.QueryEscape(name))
}

// otel sends a span by OTLP over HTTP, in JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Spans of one revision are of one trace.
type otel struct{}

func (otel) build(t Target, c Content) (Request, error) {
	m := c.Message
	attributes := map[string]string{"message": shorten(c.Text(), 8000), "reason": m.Reason, "severity": string(m.Severity), "kind": m.About.Kind, "name": m.About.Name, "namespace": m.About.Namespace}
	for _, f := range c.Facts {
		attributes["event."+f.Name] = shorten(f.Value, 1000)
	}
	at := fmt.Sprint(m.At.UnixNano())
	trace := c.ID
	if m.Revision != "" {
		trace = t.UID + " " + m.Revision
	}
	span := map[string]any{
		"traceId": hashText(trace), "spanId": hashText(c.ID)[:16], "name": c.Title + ": " + m.Reason, "kind": 1, "startTimeUnixNano": at, "endTimeUnixNano": at,
		"attributes": otelAttributes(attributes), "status": map[string]any{"code": 1},
	}
	if c.IsError() {
		span["status"] = map[string]any{"code": 2, "message": shorten(c.Text(), 1000)}
	}
	address := t.Address
	if u, err := url.Parse(address); err == nil && strings.Trim(u.Path, "/") == "" {
		address = strings.TrimSuffix(address, "/") + "/v1/traces"
	}
	r, err := postJSON(address, map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": otelAttributes(map[string]string{"service.name": reporter})},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": reporter}, "spans": []any{span}}},
	}}})
	if t.Login != "" {
		return authorized(r, "Basic", basicText(t.Login, t.Password)), err
	}
	return authorized(r, "Bearer", t.Token), err
}

func otelAttributes(values map[string]string) []any {
	var out []any
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, map[string]any{"key": name, "value": map[string]any{"stringValue": values[name]}})
	}
	return out
}
