package payload

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// grafana creates an annotation with Flux's tags, and the reason.
type grafana struct{}

func (grafana) build(t Target, c Content) (Request, error) {
	m := c.Message
	tags := []string{reporter}
	if c.Form == nil {
		tags = []string{"flux", reporter}
	}
	for _, f := range metadataOf(c) { // as Flux: a tag has one colon
		tags = append(tags, strings.ReplaceAll(f.Name, ":", "|")+": "+strings.ReplaceAll(f.Value, ":", "|"))
	}
	tags = append(tags, "kind: "+m.About.Kind, "name: "+m.About.Name, "namespace: "+m.About.Namespace, "reason: "+m.Reason)
	text := c.Title + ": " + c.Text()
	text = slackMarks.Replace(text) // Grafana shows it as HTML
	if c.Form != nil {
		text = c.Text()
		tags = append(tags, slices.DeleteFunc(strings.Split(t.Channel, "|"), func(s string) bool { return s == "" })...)
	}
	r, err := postJSON(joinURL(t.Address, "/api/annotations"), map[string]any{"time": m.At.UnixMilli(), "text": shorten(text, 8000), "tags": tags})
	if t.Login != "" {
		return authorized(r, "Basic", basicText(t.Login, t.Password)), err
	}
	return authorized(r, "Bearer", t.Token), err
}

// sentry sends an event. The address is a DSN: SCHEME://KEY@HOST/PROJECT.
type sentry struct{}

func (sentry) build(t Target, c Content) (Request, error) {
	dsn, err := url.Parse(t.Address)
	if err != nil || dsn.User == nil || strings.Trim(dsn.Path, "/") == "" {
		return Request{}, missing("sentry", "the DSN of a project as the key address in its Secret")
	}
	path, project := "", strings.Trim(dsn.Path, "/")
	if i := strings.LastIndex(project, "/"); i >= 0 {
		path, project = "/"+project[:i], project[i+1:]
	}
	m := c.Message
	body := map[string]any{
		"event_id": hashText(c.ID), "timestamp": timestampOf(m.At), "platform": "other", "level": severityText(c), "logger": reporter,
		"logentry": map[string]any{"formatted": shorten(c.Title+": "+c.Text(), 8000)}, "fingerprint": []string{hashText(c.Key)},
		"tags": map[string]string{"kind": m.About.Kind, "name": m.About.Name, "namespace": m.About.Namespace, "reason": m.Reason}, "extra": factMap(c),
	}
	if t.Channel != "" {
		body["environment"] = t.Channel
	}
	r, err := postJSON(dsn.Scheme+"://"+dsn.Host+path+"/api/"+url.PathEscape(project)+"/store/", body)
	if err == nil {
		r.Headers["X-Sentry-Auth"] = "Sentry sentry_version=7, sentry_client=truce/1, sentry_key=" + dsn.User.Username()
	}
	return r, err
}

// datadog posts an event with Flux's tags.
type datadog struct{}

func (datadog) build(t Target, c Content) (Request, error) {
	if t.Token == "" {
		return Request{}, missing("datadog", "the key token in its Secret: an API key")
	}
	m := c.Message
	tags := []string{"flux_reporting_controller:" + reporter, "flux_reason:" + m.Reason, "kube_kind:" + m.About.Kind, "kube_name:" + m.About.Name, "kube_namespace:" + m.About.Namespace}
	for _, f := range metadataOf(c) {
		tags = append(tags, shorten(f.Name+":"+f.Value, 200))
	}
	if t.Channel != "" {
		tags = append(tags, slices.DeleteFunc(strings.Split(t.Channel, ","), func(s string) bool { return s == "" })...)
	}
	kind := "info"
	switch {
	case c.IsError():
		kind = "error"
	case c.Ended:
		kind = "success"
	}
	r, err := postJSON(joinURL(cmp.Or(t.Address, "https://api.datadoghq.com"), "/api/v1/events"), map[string]any{
		"title": shorten(c.Title, 100), "text": shorten(datadogText(c.Text()), 4000), "alert_type": kind, "tags": tags, "aggregation_key": hashText(c.Key),
		"date_happened": m.At.Unix(), "source_type_name": reporter,
	})
	if err == nil {
		r.Headers["DD-API-KEY"] = t.Token
	}
	return r, err
}

// datadogText is a text in which no person is mentioned, and which is no Markdown.
func datadogText(s string) string {
	return strings.ReplaceAll(withoutMentions(s), "%%%", "%\u200b%%")
}

// metadataOf are what the notes of a content say beside their evidence, in order.
func metadataOf(c Content) []Fact {
	var out []Fact
	for _, name := range slices.Sorted(maps.Keys(c.Metadata)) {
		out = append(out, Fact{name, c.Metadata[name]})
	}
	return out
}
