package payload_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// dispatcher brings messages to one Alert as the controller does.
type dispatcher struct {
	kind   string
	alert  route.Alert
	states map[string]matter.State
	queue  []route.Note
}

func (d *dispatcher) take(messages ...notify.Message) {
	for _, m := range messages {
		key := matter.KeyOf(m)
		was := d.states[key]
		next, said := matter.Advance(was, m)
		d.states[key] = next
		if n, takes := payload.NoteFor(d.kind, d.alert, m, was); said && takes {
			d.queue = append(d.queue, n)
		}
	}
}

// sent returns "NAME REASON firing" or "resolved" of each alert of the requests for what waits.
func (d *dispatcher) sent(t *testing.T) (out []string) {
	t.Helper()
	for _, c := range payload.JoinMessages(d.kind, d.queue) {
		r, err := payload.BuildRequest(payload.Target{Type: d.kind, Address: "https://example.com"}, c)
		if err != nil {
			t.Fatal(err)
		}
		var alerts []struct {
			Labels           map[string]string
			StartsAt, EndsAt time.Time
		}
		if err := json.Unmarshal(r.Body, &alerts); err != nil {
			t.Fatal(err)
		}
		for _, a := range alerts {
			state := "firing"
			if !a.EndsAt.IsZero() && !a.EndsAt.After(c.Message.At) {
				state = "resolved"
			}
			if !a.EndsAt.IsZero() && a.EndsAt.Before(a.StartsAt) {
				t.Errorf("an alert ends before it starts: %s", r.Body)
			}
			out = append(out, a.Labels["alertname"]+" "+a.Labels["revision"]+" "+a.Labels["severity"]+" "+state)
		}
	}
	d.queue = nil
	return out
}

func newDispatcher(kind string, errorsOnly bool) *dispatcher {
	return &dispatcher{kind: kind, states: map[string]matter.State{}, alert: route.Alert{
		Sources: []route.Source{{Kind: "Kustomization", Name: "*", Namespace: "shop"}}, ErrorsOnly: errorsOnly, Metadata: map[string]string{"cluster": "prod"},
	}}
}

// of is a message of a revision, some minutes after noon.
func of(n route.Note, revision, text string, minute int) notify.Message {
	m := n.Message
	m.Revision, m.Text, m.At = revision, text, noon.Add(time.Duration(minute)*time.Minute)
	m.Matter.Form = m.Reason + " " + text
	return m
}

// TestAlertsAreNamedAsFluxNamesThem: a route by alertname, severity, reason or revision finds them, and each one that truce has opened is closed, whatever
// its labels were.
func TestAlertsAreNamedAsFluxNamesThem(t *testing.T) {
	for name, c := range map[string]struct {
		errorsOnly bool
		looks      [][]notify.Message
		want       [][]string
	}{
		"a revision that ends no failure fires, as Flux's: Alertmanager ends it": {
			looks: [][]notify.Message{{of(applied("web"), "r1", "applied", 0)}},
			want:  [][]string{{"FluxKustomizationReconciliationsucceeded r1 info firing"}},
		},
		"news of no matter fires": {
			looks: [][]notify.Message{{of(waiting("web"), "r1", "waits", 0)}},
			want:  [][]string{{"FluxKustomizationDependencynotready r1 info firing"}},
		},
		"a failure, another one of the next commit, and its end": {
			looks: [][]notify.Message{{of(failed("web"), "r1", "a", 0)}, {of(failed("web"), "r2", "b", 1)}, {of(applied("web"), "r3", "applied", 2)}},
			want: [][]string{
				{"FluxKustomizationBuildfailed r1 error firing"},
				{"FluxKustomizationBuildfailed r2 error firing", "FluxKustomizationBuildfailed r1 error resolved"},
				{"FluxKustomizationReconciliationsucceeded r3 info firing", "FluxKustomizationBuildfailed r2 error resolved"},
			},
		},
		"what comes between two looks closes what was sent before": {
			looks: [][]notify.Message{{of(failed("web"), "r1", "a", 0)}, {of(failed("web"), "r2", "b", 1), of(applied("web"), "r3", "applied", 2)}},
			want: [][]string{
				{"FluxKustomizationBuildfailed r1 error firing"},
				{"FluxKustomizationReconciliationsucceeded r3 info firing", "FluxKustomizationBuildfailed r1 error resolved", "FluxKustomizationBuildfailed r2 error resolved"},
			},
		},
		"the end of a failure that fails again at once": {
			looks: [][]notify.Message{{of(failed("web"), "r1", "a", 0)}, {of(applied("web"), "r2", "applied", 1), of(failed("web"), "r3", "b", 2)}},
			want: [][]string{
				{"FluxKustomizationBuildfailed r1 error firing"},
				{"FluxKustomizationBuildfailed r3 error firing", "FluxKustomizationBuildfailed r1 error resolved"},
			},
		},
		"an Alert that takes errors alone closes them": {
			errorsOnly: true,
			looks:      [][]notify.Message{{of(failed("web"), "r1", "a", 0)}, {of(applied("web"), "r2", "applied", 1)}, {of(applied("web"), "r3", "applied", 2)}},
			want:       [][]string{{"FluxKustomizationBuildfailed r1 error firing"}, {"FluxKustomizationBuildfailed r1 error resolved"}, nil},
		},
		"a fight has no message of its end beside the alert's": {
			looks: [][]notify.Message{{of(contested("web"), "", "put back", 0)}, {of(settled("web"), "", "settled", 1)}},
			want:  [][]string{{"FluxKustomizationFieldcontested  error firing"}, {"FluxKustomizationFieldcontested  error resolved"}},
		},
	} {
		d := newDispatcher("alertmanager", c.errorsOnly)
		for i, look := range c.looks {
			d.take(look...)
			if diff := cmp.Diff(c.want[i], d.sent(t)); diff != "" {
				t.Errorf("%s, look %d (-want +got):\n%s", name, i+1, diff)
			}
		}
	}
}

// TestTheEndOfAnAlertComesThroughAnAlertOfErrors: what an on-call tool has open is closed; a chat gets errors alone, as it asks.
func TestTheEndOfAnAlertComesThroughAnAlertOfErrors(t *testing.T) {
	for kind, want := range map[string]int{"pagerduty": 2, "opsgenie": 2, "alertmanager": 2, "slack": 1} {
		d := newDispatcher(kind, true)
		d.take(of(failed("web"), "r1", "a", 0), of(applied("web"), "r2", "applied", 1), of(applied("web"), "r3", "applied", 2))
		if len(d.queue) != want {
			t.Errorf("%s gets %d messages, want %d", kind, len(d.queue), want)
		}
	}
}

// TestGrafanaHasAnAnnotationOfEachApp: a dashboard shows them by the tags of an app.
func TestGrafanaHasAnAnnotationOfEachApp(t *testing.T) {
	var notes []route.Note
	for _, app := range []string{"a", "b", "c", "d", "e", "f"} {
		notes = append(notes, applied(app))
	}
	if got := payload.JoinMessages("grafana", notes); len(got) != len(notes) {
		t.Errorf("%d annotations of %d apps", len(got), len(notes))
	}
}
