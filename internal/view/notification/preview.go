package notification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/controller/findings"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/release/hook"
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
	for _, o := range joinPrunes(dropHeld(entries)) {
		if err := t.add(ctx, o); err != nil {
			return out, err
		}
	}
	t.flush()
	return out, nil
}

// occurrence is an entry, or those of a prune: a run says them at once.
type occurrence struct {
	journal.Entry
	gone []object.ID // that were pruned
}

// joinPrunes gathers what was pruned in one run. What was deleted with its app has no revision: its app says that.
func joinPrunes(entries []journal.Entry) []occurrence {
	var out []occurrence
	for _, e := range entries {
		if e.What != journal.Pruned {
			out = append(out, occurrence{Entry: e})
			continue
		}
		i := slices.IndexFunc(out, func(o occurrence) bool {
			return o.What == e.What && o.App == e.App && o.Revision == e.Revision && o.Reason == e.Reason && e.At.Sub(o.At) < longestPrune
		})
		if i < 0 {
			i, out = len(out), append(out, occurrence{Entry: e})
		}
		out[i].gone = append(out[i].gone, e.Object)
	}
	return slices.DeleteFunc(out, func(o occurrence) bool { return o.What == journal.Pruned && o.Revision == "" })
}

// longestPrune is how long the entries of one prune may be apart.
const longestPrune = time.Minute

// replay brings the matters of the past on, as controller/notices does.
type replay struct {
	apps    *appReader
	past    *Past
	states  map[string]matter.State
	waiting []route.Note
}

func (t *replay) add(ctx context.Context, e occurrence) error {
	m, is := messageOf(e)
	if !is || !t.past.Alert.Hears(e.App) { // the other apps need not be readable
		return nil
	}
	cr, err := t.apps.read(ctx, e.App)
	if err != nil {
		return err
	}
	m.About, m.APIVersion, m.UID = cr.ID(), cr.APIVersion(), cr.UID()
	m.Labels, m.Annotations = cr.Labels(), cr.Annotations()
	for _, end := range t.endedBy(m) {
		t.say(end)
	}
	if e.What != journal.Recovered { // it is an end
		t.say(m)
	}
	return nil
}

// endedBy returns the ends of the other matters of the field that a message is about: a fight whose field is put back or left to a claimant, is over. An
// app that has recovered is no longer degraded.
func (t *replay) endedBy(m notify.Message) []notify.Message {
	kinds := []string{matter.Drift, matter.Contested}
	if m.Matter.Object == "" {
		kinds = []string{matter.Unhealthy}
	}
	if m.Matter.Object == "" && m.Matter.Kind != recovered {
		return nil
	}
	var out []notify.Message
	for _, kind := range kinds {
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
	was := t.states[key]
	next, said := matter.Advance(was, m)
	t.states[key] = next
	wants := payload.IsCommitStatus(t.past.Type)
	if _, isResult := payload.ResultOf(m); !said || wants && !isResult {
		return
	}
	note, takes := payload.NoteFor(t.past.Type, t.past.Alert, m, was)
	if !takes {
		return
	}
	if deliver.DefaultWindows().IsDue(t.waiting, m.At) {
		t.flush()
	}
	t.waiting = append(t.waiting, note)
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
func messageOf(e occurrence) (notify.Message, bool) {
	m := notify.Message{}
	switch e.What {
	case journal.Applied:
		if e.App.Kind == "HelmRelease" { // its releases are the news
			return m, false
		}
		m.Event = notify.Event{Severity: notify.Info, Reason: "ReconciliationSucceeded", Text: "Applied revision: " + e.Revision}
		m.Matter = notify.Matter{Kind: matter.Failure, Phase: notify.Ends}
	case journal.Failed:
		m.Event = notify.Event{Severity: notify.Error, Reason: "ReconciliationFailed", Text: e.Reason}
		m.Matter = notify.Matter{Kind: matter.Failure, Phase: notify.Opens, Form: matter.FailureForm(m.Reason, e.Reason)}
	case journal.Lost:
		m.Event = notify.Event{Severity: notify.Error, Reason: "AdoptionLost", Text: e.Reason}
	case journal.Pruned:
		m = findings.PruneMessage(e.Revision, e.Reason, e.gone)
	case journal.Recreated:
		m.Event = notify.Event{Severity: notify.Info, Reason: "Recreated", Text: e.Object.String() + " deleted, to be created as Git has it: " + e.Reason}
	case journal.Released:
		m = releaseMessage(e.Entry)
	case journal.Degraded:
		m.Event = notify.Event{Severity: notify.Error, Reason: "HealthDegraded", Text: "degraded: " + e.Reason}
		m.Matter = notify.Matter{Kind: matter.Unhealthy, Phase: notify.Opens}
		if len(e.Because) > 0 {
			m.Matter.Form = "the cause is known"
		}
	case journal.Recovered:
		m.Matter = notify.Matter{Kind: recovered}
	default:
		verdict, known := verdicts[e.What]
		if !known {
			return m, false
		}
		kind := compare.Changed
		if e.Path == field.PathString(nil) { // the whole object
			kind = compare.Missing
		}
		m = findings.Message(report.FindingEvent{
			App: e.App, ID: e.Object, Carried: e.What == journal.Corrected, At: e.At, Source: e.Place,
			Finding: report.Finding{Kind: kind, Verdict: verdict, Desired: e.Git, Live: e.Live, Claimant: e.Claimant, Reason: e.Reason, Writer: ownership.Writer{
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

// recovered is the matter of what ends that an app is degraded; no message has it.
const recovered = "recovered"

// releaseMessage is the message of what was done with a release. A rollback and an uninstall are remedies, but for the end of the app.
func releaseMessage(e journal.Entry) notify.Message {
	reason, text := strings.ToUpper(e.Action[:1])+e.Action[1:]+"Succeeded", fmt.Sprintf("Helm %s succeeded for %s", e.Action, e.Reason)
	m := notify.Message{
		Event:  notify.Event{Severity: notify.Info, Reason: reason, Text: text},
		Matter: notify.Matter{Kind: matter.Failure, Phase: notify.Ends}, Evidence: map[string]string{notify.FactObject: e.Reason},
	}
	if isRemedy := e.Action == string(hook.Rollback) || e.Action == string(hook.Uninstall); isRemedy && e.Revision != "" {
		m.Severity, m.Matter = notify.Error, notify.Matter{Kind: matter.Failure, Phase: notify.Opens, Form: matter.FailureForm(reason, text)}
	}
	return m
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

// Since is the default of how far back a preview looks.
const Since = 24 * time.Hour
