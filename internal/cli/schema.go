package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// schemaVersion names the JSON forms of this file. Within it names are only added.
const schemaVersion = "cli.truce.dev/v1"

type listJSON struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"` // AppList, DiffList
	Items      any    `json:"items"`
}

type keyJSON struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func sourceJSON(k app.SourceKey) keyJSON {
	return keyJSON{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

// metadataJSON is what paths written for kubectl look for.
type metadataJSON struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	Labels    map[string]string `json:"labels,omitempty"`
	Created   time.Time         `json:"creationTimestamp,omitzero"`
}

func newMetadataJSON(k app.Key) metadataJSON {
	return metadataJSON{Name: k.Name, Namespace: k.Namespace}
}

// summaryJSON is one app of `app list`.
type summaryJSON struct {
	Metadata      metadataJSON `json:"metadata"`
	App           keyJSON      `json:"app"`
	Sync          string       `json:"sync"`
	Health        string       `json:"health"`
	HealthMessage string       `json:"healthMessage,omitempty"`
	Revision      string       `json:"revision,omitempty"`
	Source        keyJSON      `json:"source"`
	Path          string       `json:"path"`
	Suspended     bool         `json:"suspended"`
	Observed      bool         `json:"observed,omitempty"` // truce only watches: the rest is what statusBy says
	StatusBy      string       `json:"statusBy,omitempty"`
	AdoptionLost  string       `json:"adoptionLost,omitempty"` // the app was adopted, and its former controller works on it again
	Settled       bool         `json:"settled"`
	Reason        string       `json:"reason,omitempty"`
	Message       string       `json:"message,omitempty"`
	Created       time.Time    `json:"created,omitzero"`
}

func newSummaryJSON(s view.Summary) summaryJSON {
	out := summaryJSON{
		App: keyJSON(s.Key), Sync: string(s.State.Sync), Health: string(s.State.Health.Code), HealthMessage: s.State.Health.Message,
		Revision: s.Revision, Source: sourceJSON(s.Source), Path: s.Path, Suspended: s.State.Suspended, Observed: s.Observed, StatusBy: s.By, AdoptionLost: s.Lost, Settled: s.Settled,
		Reason: string(s.State.Reason), Message: s.Message, Metadata: newMetadataJSON(s.Key),
	}
	out.Metadata.Labels = s.Labels
	out.Created, out.Metadata.Created = s.Created, s.Created
	return out
}

// detailJSON is one app of `app get` and `app diff`.
type detailJSON struct {
	APIVersion    string       `json:"apiVersion"`
	Kind          string       `json:"kind"` // App, Diff
	Metadata      metadataJSON `json:"metadata"`
	App           keyJSON      `json:"app"`
	Sync          string       `json:"sync"`
	Health        string       `json:"health"`
	HealthMessage string       `json:"healthMessage,omitempty"`
	Revision      string       `json:"revision,omitempty"`
	Source        keyJSON      `json:"source"`
	Path          string       `json:"path"`
	Suspended     bool         `json:"suspended"`
	Status        *statusJSON  `json:"status,omitempty"` // of an app that truce only observes: what another controller says of it
	Stage         string       `json:"stage"`            // where the run stopped; "done" for one that went through
	Reason        string       `json:"reason"`
	Message       string       `json:"message,omitempty"`
	Notes         []string     `json:"notes,omitempty"`
	Hooks         []hookJSON   `json:"hooks,omitempty"`     // of the newest operation
	NextHooks     []string     `json:"nextHooks,omitempty"` // which hooks an operation would run, in their order
	Objects       []objectJSON `json:"objects"`
	Prune         []idJSON     `json:"prune,omitempty"` // objects that Git no longer names
}

// hookJSON is how a hook of an operation ran.
type hookJSON struct {
	idJSON
	Event   string `json:"event"`
	Phase   string `json:"phase"`
	Message string `json:"message,omitempty"`
}

// statusJSON is the word of another controller about an app.
type statusJSON struct {
	By       string `json:"by,omitempty"`
	Sync     string `json:"sync"`
	Health   string `json:"health,omitempty"`
	Revision string `json:"revision,omitempty"`
	Message  string `json:"message,omitempty"`
}

type idJSON struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

type objectJSON struct {
	Group         string      `json:"group"`
	Version       string      `json:"version"`
	Kind          string      `json:"kind"`
	Namespace     string      `json:"namespace,omitempty"`
	Name          string      `json:"name"`
	Sync          string      `json:"sync"`
	Health        string      `json:"health"`
	HealthMessage string      `json:"healthMessage,omitempty"`
	Problem       string      `json:"problem,omitempty"`
	Source        *placeJSON  `json:"source,omitempty"` // the document that describes it
	Fields        []fieldJSON `json:"fields"`
	Content       any         `json:"content,omitempty"` // the whole of an object that a preview would create
}

type fieldJSON struct {
	Path       string      `json:"path"` // "." is the object as a whole
	Difference string      `json:"difference"`
	Git        any         `json:"git"`
	Live       any         `json:"live"`
	Writer     *writerJSON `json:"writer,omitempty"`
	Verdict    string      `json:"verdict"`
	Reason     string      `json:"reason"`
	Remedy     string      `json:"remedy,omitempty"`     // what the user can do
	NotApplied string      `json:"notApplied,omitempty"` // of a count of Git's that a claimant decides
	PausedBy   string      `json:"pausedBy,omitempty"`
	Claimant   string      `json:"claimant,omitempty"`
	Reported   bool        `json:"reported,omitempty"` // an addition that does not make the object OutOfSync
	Source     *placeJSON  `json:"source,omitempty"`   // what gives the field its value
}

type writerJSON struct {
	Name        string    `json:"name"`
	Manager     string    `json:"manager,omitempty"`
	Operation   string    `json:"operation,omitempty"`
	Subresource string    `json:"subresource,omitempty"`
	User        string    `json:"user,omitempty"`   // as the API server knew them; only the admission witness sees that
	During      string    `json:"during,omitempty"` // whose write it was that a webhook changed
	Person      bool      `json:"person"`
	Time        time.Time `json:"time,omitzero"`
	AtLatest    bool      `json:"atLatest,omitempty"`   // the field was written then or before
	Before      any       `json:"before,omitempty"`     // what the field held before, where that was seen
	Often       int       `json:"withinHour,omitempty"` // changes of the field within the last hour, this one included
	Evidence    string    `json:"evidence"`
	Because     []string  `json:"because,omitempty"` // a sentence for each witness
}

type placeJSON struct {
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Field string `json:"field,omitempty"` // of the app's custom resource
	Means string `json:"means,omitempty"`
	// Variable says which variables make the value of what is written there, and where they come from.
	Variable string `json:"variable,omitempty"`
	Exact    *bool  `json:"exact,omitempty"`
}

// newDetailJSON keeps the objects for which keep is true.
func newDetailJSON(kind string, d view.Detail, keep func(report.Object) bool) detailJSON {
	r, state := d.Report, stateOf(d)
	out := detailJSON{
		APIVersion: schemaVersion, Kind: kind, Metadata: newMetadataJSON(r.App), App: keyJSON(r.App), Sync: string(state.Sync), Health: string(state.Health.Code),
		HealthMessage: state.Health.Message, Revision: r.Revision, Source: sourceJSON(d.App.Source), Path: d.App.Path,
		Suspended: d.App.Suspended, Stage: string(r.Stage), Reason: string(r.Reason), Message: r.Message, Notes: r.Notes,
		Objects: []objectJSON{},
	}
	if d.App.Policy.Mode == policy.Observe {
		s := d.Recorded
		out.Status = &statusJSON{By: s.StatusWriter, Sync: string(s.State.Sync), Health: string(s.State.Health.Code), Revision: s.Revision, Message: s.Message}
	}
	for _, o := range r.Objects {
		if keep(o) {
			out.Objects = append(out.Objects, newObjectJSON(o, d))
		}
	}
	out.NextHooks = r.Planned
	for _, h := range d.Recorded.Hooks {
		out.Hooks = append(out.Hooks, hookJSON{idJSON(h.ID), string(h.Event), string(h.Run.Phase), h.Run.Message})
	}
	for _, id := range d.Leaving {
		out.Prune = append(out.Prune, idJSON(id))
	}
	return out
}

func newObjectJSON(o report.Object, d view.Detail) objectJSON {
	h := o.HealthStatus()
	out := objectJSON{
		Group: o.ID.Group, Version: o.Version, Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name,
		Sync: string(o.Sync()), Health: string(h.Code), HealthMessage: h.Message, Problem: o.Problem, Fields: []fieldJSON{},
	}
	out.Content = newContent(o, d)
	if o.File != "" {
		out.Source = &placeJSON{File: o.File, Line: o.Line}
	}
	for _, f := range o.Findings {
		out.Fields = append(out.Fields, newFieldJSON(o.ID, f, d))
	}
	return out
}

func newFieldJSON(id object.ID, f report.Finding, d view.Detail) fieldJSON {
	out := fieldJSON{
		Path: field.PathString(f.Path), Difference: string(f.Kind), Git: f.Desired, Live: f.Live,
		Verdict: string(f.Verdict), Reason: f.Reason, Remedy: f.Remedy, NotApplied: f.NotApplied, PausedBy: f.PausedBy, Claimant: f.Claimant, Reported: f.Reported,
	}
	if isWholeObject(f) || f.Kind == compare.Unmanaged {
		out.Git, out.Live = nil, nil
	} else {
		out.Writer = newWriterJSON(f.Writer)
	}
	if p := d.Origin(id, f.Path); p.Known() {
		exact := p.Exact
		out.Source = &placeJSON{File: p.File, Line: p.Line, Field: p.Field, Means: string(p.Means), Variable: p.Variable, Exact: &exact}
	}
	return out
}

// isWholeObject reports whether the finding is about the object, not one of its fields.
func isWholeObject(f report.Finding) bool { return len(f.Path) == 0 && f.Kind == compare.Missing }

func newWriterJSON(w ownership.Writer) *writerJSON {
	return &writerJSON{
		Name: w.Name, Manager: w.Manager, Operation: w.Operation, Subresource: w.Subresource, User: w.User, During: w.During,
		Person: w.Person, Time: w.Time, AtLatest: w.AtLatest && !w.Time.IsZero(), Before: w.Before, Often: w.Often, Evidence: string(w.Evidence), Because: w.Because,
	}
}

// writeStructured writes a value as JSON or YAML. A command prints with appFlags.structured, which has the user's templates and columns, too.
func writeStructured(w io.Writer, form string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if form == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(w, strings.TrimRight(string(text), "\n"))
	return err
}

func namespacedName(k app.Key) string { return k.Namespace + "/" + k.Name }
