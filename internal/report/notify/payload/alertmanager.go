package payload

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/pattern"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// alertmanager posts alerts with the labels of Flux's, by which routes choose. An alert of a lasting matter ends with it, or when the matter has another form
// and so another alert; any other one ends when Alertmanager's resolve_timeout is over, as Flux's do.
type alertmanager struct{}

// alert is what Alertmanager's API takes (https://prometheus.io/docs/alerting/latest/alerts_api/).
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    string            `json:"startsAt"`
	EndsAt      string            `json:"endsAt,omitempty"`
}

// alertLife is how long an alert lasts of which Alertmanager hears no more, for truce does not run: Alertmanager ends it after minutes otherwise.
const alertLife = 24 * time.Hour

func (alertmanager) build(t Target, c Content) (Request, error) {
	m := c.Message
	var alerts []alert
	now := alert{Labels: alertLabels(m, c.Metadata), Annotations: alertAnnotations(c), StartsAt: timestampOf(m.At)}
	fires := !c.ClosesOnly && (!c.Ended || len(c.Closes) == 0 || m.Matter.Kind == matter.Failure) // the success of a run is a message of its own, as in Flux
	if fires {
		if m.Matter.Phase == notify.Opens {
			now.EndsAt = timestampOf(m.At.Add(alertLife))
		}
		alerts = append(alerts, now)
	}
	for _, was := range c.Closes {
		labels := alertLabels(was.Message, was.Metadata)
		if fires && maps.Equal(labels, now.Labels) {
			alerts[0].StartsAt = min(alerts[0].StartsAt, timestampOf(was.Message.At)) // it goes on
			continue
		}
		if slices.ContainsFunc(alerts, func(a alert) bool { return maps.Equal(a.Labels, labels) }) {
			continue
		}
		since := was.Message.At
		if !since.Before(m.At) {
			since = m.At.Add(-time.Second)
		}
		alerts = append(alerts, alert{Labels: labels, Annotations: now.Annotations, StartsAt: timestampOf(since), EndsAt: timestampOf(m.At)})
	}
	r, err := postJSON(t.Address, alerts)
	if t.Login != "" {
		return authorized(r, "Basic", basicText(t.Login, t.Password)), err
	}
	return authorized(r, "Bearer", t.Token), err
}

// notInLabels is what the name of a label may not have.
var notInLabels = pattern.OnDemand(`^[0-9]|[^a-zA-Z0-9_]`)

// alertLabels are those of Flux, and the object and field of a matter that has them: alerts with the same labels are one.
func alertLabels(m notify.Message, metadata map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range metadata {
		if name != summary {
			out[notInLabels().ReplaceAllString(name, "_")] = redact.Printable(value)
		}
	}
	out["alertname"] = "Flux" + m.About.Kind + firstUpper(m.Reason)
	out["severity"], out["reason"], out["reportingcontroller"] = string(m.Severity), m.Reason, reporter
	out["kind"], out["namespace"], out["name"] = m.About.Kind, m.About.Namespace, m.About.Name
	if m.Matter.Object != "" {
		out["object"] = m.Matter.Object
	}
	if m.Matter.Field != "" {
		out["field"] = m.Matter.Field
	}
	return out
}

// firstUpper writes a reason as Flux has it in the names of alerts: HealthCheckFailed is Healthcheckfailed.
func firstUpper(reason string) string {
	if reason == "" {
		return ""
	}
	return strings.ToUpper(reason[:1]) + strings.ToLower(reason[1:])
}

// alertAnnotations are Flux's, and the evidence.
func alertAnnotations(c Content) map[string]string {
	out := map[string]string{}
	for _, f := range c.Facts {
		if c.Metadata[f.Name] != f.Value || f.Name == summary {
			out[f.Name] = f.Value
		}
	}
	out["message"] = shorten(c.Text(), 8000)
	return out
}

// NoteFor returns the note that a message is for a receiver of some type, after what was known of its matter; false where the Alert does not take it. An alert
// that a receiver has open is closed also where the Alert takes errors alone.
func NoteFor(kind string, by route.Alert, m notify.Message, was matter.State) (route.Note, bool) {
	before, took := sentBefore(kind, by, was)
	takes := by.Takes(m)
	if !takes && (!took || m.Matter.Phase != notify.Ends) {
		return route.Note{}, false
	}
	n := by.Address(m)
	n.ClosesOnly = !takes
	if took && kind == "alertmanager" {
		n.Before = &before
	}
	return n, true
}

// sentBefore returns what a receiver has open of a matter.
func sentBefore(kind string, by route.Alert, was matter.State) (route.Note, bool) {
	switch {
	case !was.Open, !route.IsOnCall(kind), by.Suspended:
		return route.Note{}, false
	case was.Sent == nil:
		return by.Address(was.Opened), by.Takes(was.Opened)
	}
	s, took := was.Sent[by.Key.String()]
	return route.Note{Message: was.MessageSent(s), Metadata: s.Metadata}, took && s.Provider == by.Provider
}
