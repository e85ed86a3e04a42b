package notification

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// Past is what an Alert would have sent.
type Past struct {
	Alert    route.Alert
	Type     string // of its Provider
	Messages []payload.Content
	Judged   int // how many things happened; those that the Alert does not take among them
}

// Preview returns what an Alert, as it is now, would have sent of the entries of a journal, which come in the order of time.
func Preview(ctx context.Context, r live.Reader, key route.Key, entries []journal.Entry) (Past, error) {
	cr, err := readResource(ctx, r, registry.Alerts, key)
	if err != nil {
		return Past{}, err
	}
	out := Past{Alert: flux.Notifications{}.Alert(cr), Judged: len(entries)}
	if len(out.Alert.Problems) > 0 {
		return out, fmt.Errorf("%s %s: %s", registry.Alerts.Kind, key, joinProblems(out.Alert.Problems))
	}
	provider, err := readResource(ctx, r, registry.Providers, route.Key{Namespace: key.Namespace, Name: out.Alert.Provider})
	if err != nil {
		return out, err
	}
	out.Type = flux.Notifications{}.Provider(provider).Type
	out.Alert.Suspended = false // what would have been sent
	t := &replay{apps: &appReader{reader: r, known: map[app.Key]object.Object{}}, past: &out, states: map[string]matter.State{}}
	for _, e := range entries {
		if err := t.add(ctx, e); err != nil {
			return out, err
		}
	}
	t.flush()
	return out, nil
}

// replay brings the matters of the past on, as controller/notices does.
type replay struct {
	apps    *appReader
	past    *Past
	states  map[string]matter.State
	waiting []route.Note
}

func (t *replay) add(ctx context.Context, e journal.Entry) error {
	m, is := messageOf(e)
	if !is || !t.past.Alert.Hears(e.App) { // the other apps need not be readable
		return nil
	}
	cr, err := t.apps.read(ctx, e.App)
	if err != nil {
		return err
	}
	m.About, m.APIVersion, m.UID = cr.ID(), cr.APIVersion(), cr.UID()
	m.Labels, m.Annotations = textsAt(cr, "labels"), textsAt(cr, "annotations")
	for _, end := range t.endedBy(m) {
		t.say(end)
	}
	t.say(m)
	return nil
}

// endedBy returns the ends of the other matters of the field that a message is about: a fight whose field is put back or left to a claimant, is over.
func (t *replay) endedBy(m notify.Message) []notify.Message {
	if m.Matter.Object == "" {
		return nil
	}
	var out []notify.Message
	for _, kind := range []string{matter.Drift, matter.Contested} {
		other := m
		other.Matter.Kind = kind
		if kind == m.Matter.Kind {
			continue
		}
		if end, ended := matter.EndMessage(t.states[matter.KeyOf(other)], m, nil); ended {
			out = append(out, end)
		}
	}
	return out
}

func (t *replay) say(m notify.Message) {
	key := matter.KeyOf(m)
	next, said := matter.Advance(t.states[key], m)
	t.states[key] = next
	wants := payload.IsCommitStatus(t.past.Type)
	if _, isResult := payload.ResultOf(m); !said || wants && !isResult || !t.past.Alert.Takes(m) {
		return
	}
	if deliver.DefaultWindows().IsDue(t.waiting, m.At) {
		t.flush()
	}
	t.waiting = append(t.waiting, t.past.Alert.Address(m))
}

func (t *replay) flush() {
	for _, c := range payload.JoinMessages(t.past.Type, t.waiting) {
		if !c.Nothing {
			t.past.Messages = append(t.past.Messages, c)
		}
	}
	t.waiting = nil
}

// verdicts are those of the journal's kinds of findings.
var verdicts = map[journal.EntryKind]decide.Verdict{
	journal.Corrected: decide.Correct, journal.Ceded: decide.Cede, journal.Held: decide.Hold, journal.Contested: decide.Contested,
}

// messageOf returns the message of an entry; false for one of which none is sent. The journal has no remedies and no reasons of statuses.
func messageOf(e journal.Entry) (notify.Message, bool) {
	m := notify.Message{}
	switch e.What {
	case journal.Applied:
		m.Event = notify.Event{Severity: notify.Info, Reason: "ReconciliationSucceeded", Text: "Applied revision: " + e.Revision}
		m.Matter = notify.Matter{Kind: matter.Failure, Phase: notify.Ends}
	case journal.Failed:
		m.Event = notify.Event{Severity: notify.Error, Reason: "ReconciliationFailed", Text: e.Reason}
		m.Matter = notify.Matter{Kind: matter.Failure, Phase: notify.Opens, Form: e.Reason}
	case journal.Lost:
		m.Event = notify.Event{Severity: notify.Error, Reason: "AdoptionLost", Text: e.Reason}
	default:
		verdict, known := verdicts[e.What]
		if !known {
			return m, false
		}
		m = findings.Message(report.FindingEvent{
			App: e.App, ID: e.Object, Carried: e.What == journal.Corrected, At: e.At, Source: e.Place,
			Finding: report.Finding{Verdict: verdict, Desired: e.Git, Live: e.Live, Claimant: e.Claimant, Reason: e.Reason, Writer: ownership.Writer{
				Name: e.Writer, Manager: e.Manager, Person: e.Person, User: e.User, During: e.During, Time: e.Written, AtLatest: e.AtLatest, Before: e.Before,
				Often: e.Often, Evidence: ownership.Evidence(e.Evidence), Because: e.Because,
			}},
		}, e.Path)
	}
	m.At = e.At
	if verdicts[e.What] == "" {
		m.Revision = e.Revision
	}
	return m, true
}

// appReader reads the custom resources of apps, each once: Alerts choose by their labels.
type appReader struct {
	reader live.Reader
	known  map[app.Key]object.Object
}

// read returns an app's custom resource; of one that is gone, its name alone.
func (a *appReader) read(ctx context.Context, key app.Key) (object.Object, error) {
	if cr, known := a.known[key]; known {
		return cr, nil
	}
	gvk, _, err := registry.AppsFor(key)
	if err != nil {
		return nil, err
	}
	id := object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name}
	cr, err := a.reader.Get(ctx, gvk, id)
	if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) {
		cr, err = object.Object{
			"apiVersion": gvk.Group + "/" + gvk.Version, "kind": gvk.Kind, "metadata": map[string]any{"name": key.Name, "namespace": key.Namespace},
		}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	a.known[key] = cr
	return cr, nil
}

func textsAt(cr object.Object, place string) map[string]string {
	all, _ := cr.At("metadata", place).(map[string]any)
	out := map[string]string{}
	for key, v := range all {
		if text, ok := v.(string); ok {
			out[key] = text
		}
	}
	return out
}

// Since is the default of how far back a preview looks.
const Since = 24 * time.Hour
