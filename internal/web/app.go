package web

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// appPage is one app.
type appPage struct {
	Name, Namespace, Kind  string
	Sync, SyncText         string // Sync is the class, SyncText what people read
	Health, HealthWhy      string // HealthWhy is empty where Message says it
	Revision, Applied      string
	Stage, Reason, Message string
	Notes                  []string
	Objects                []objectRow
	Findings               []findingRow
	Outcome                string // class of the newest run's message
	At                     string
	Lately                 *recentActivity // nil where no journal is kept
}

type objectRow struct {
	ID, Sync, Health, Message, Place string
}

type findingRow struct {
	Object, Path, Git, Live, Writer, Verdict, Reason string
}

func newAppPage(r report.Report) appPage {
	s := r.State()
	p := appPage{
		Name: r.App.Name, Namespace: r.App.Namespace, Kind: r.App.Kind,
		Sync: string(s.Sync), SyncText: s.SyncText(), Health: string(s.Health.Code), HealthWhy: s.Health.Message,
		Revision: r.Revision, Applied: r.Applied, Stage: string(r.Stage), Reason: string(r.Reason), Message: r.Message,
		Notes: r.Notes, Outcome: outcome(s),
	}
	if why := r.FetchFailure(); why != "" && why != p.Message {
		p.Notes = append([]string{why}, p.Notes...)
	}
	if p.HealthWhy == r.Message {
		p.HealthWhy = ""
	}
	if !r.At.IsZero() {
		p.At = r.At.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	for _, o := range r.Objects {
		p.Objects = append(p.Objects, newObjectRow(o))
		for _, f := range o.Findings {
			p.Findings = append(p.Findings, newFindingRow(o.ID, f))
		}
	}
	return p
}

// outcome is the class of what a run says: that of a failure for one that was refused or went wrong.
func outcome(s report.State) string {
	if s.Ready == report.NotReady {
		return "Degraded"
	}
	return ""
}

func newObjectRow(o report.Object) objectRow {
	h := o.HealthStatus()
	row := objectRow{ID: o.ID.String(), Sync: string(o.Sync()), Health: string(h.Code), Message: h.Message}
	if o.Problem != "" {
		row.Message = o.Problem
	}
	if o.File != "" {
		row.Place = fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return row
}

// wholeObject is in the place of a field's path.
const (
	wholeObject = "the whole object"
	wholeThere  = "there"
)

func newFindingRow(id object.ID, f report.Finding) findingRow {
	row := findingRow{
		Object: id.String(), Path: strings.TrimPrefix(field.PathString(f.Path), "."), Git: report.FormatValue(f.Desired), Live: report.FormatValue(f.Live),
		Writer: f.Writer.String(), Verdict: string(f.Verdict), Reason: f.Reason,
	}
	if len(f.Path) == 0 && f.Kind == compare.Missing {
		row.Path, row.Git, row.Writer = wholeObject, wholeThere, ""
	}
	if f.Kind == compare.Unmanaged {
		row.Path, row.Git, row.Live, row.Writer = wholeObject, "not compared", wholeThere, ""
	}
	if f.Remedy != "" {
		row.Reason += "; " + f.Remedy
	}
	return row
}
