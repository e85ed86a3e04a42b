// Package appstate answers: in which state is this app, in which words?
//
// In: a report, or what a status says of how the newest run ended and of the objects.
// Out: a State: sync status, health, readiness, reason and message.
// Promise: pure; every output takes its words from here, so that they are the same everywhere; no part of a State is empty that a reader
// needs: a health other than Healthy has a message.
// Not here: the health of an object (health), a dialect's own conditions (front).
package appstate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/report"
)

// State is an app's state in the words that every output uses: conditions, printer columns, commands, the page, JSON and metrics.
// Of and Judge are the only functions that make these words.
type State struct {
	Sync      report.Sync
	Health    health.Status // its message is empty only for Healthy
	Ready     Readiness
	Reason    report.Reason // of the newest run; empty before the first one
	Message   string        // why the app is not as Git wants; empty where there is nothing to say
	Suspended bool
}

// Readiness is the status of the condition Ready. The zero value is none of the words.
type Readiness string

// The values of Readiness. Without health checks an app is ready when its newest revision is applied, as in Flux.
const (
	Ready        Readiness = "True"
	NotReady     Readiness = "False"
	ReadyUnknown Readiness = "Unknown"
)

// StateOf returns the state of the app that the report is about. A suspended app keeps the state that its objects and its newest run
// before the suspension give it.
func StateOf(r report.Report) State {
	end := report.End{Reason: r.Reason, Message: r.Message}
	switch {
	case r.Stage == "":
		end = report.End{}
	case r.Reason == report.Suspended:
		end = r.Before
	}
	s := StateAfter(end, differs(r), WorstHealth(r.Objects))
	if end.Reason == report.Succeeded {
		s = s.without(r)
	}
	if s.Message == "" && s.Sync == report.OutOfSync {
		s.Message = r.Drift()
	}
	if r.Reason == report.Suspended {
		s = s.Suspend()
	}
	return s
}

// without is the state of an app of which an object is or may be missing: it is not ready, and not known to be synced.
func (s State) without(r report.Report) State {
	why, suspected := r.Missing()
	switch {
	case suspected:
		s.Ready, s.Sync, s.Message = ReadyUnknown, report.Unknown, why
	case why != "":
		s.Ready, s.Message = NotReady, why
	}
	return s
}

// StateAfter returns the state of an app from how its newest run ended, whether its objects are as Git wants, and the worst health among
// them, whose zero value says that no object is known.
func StateAfter(end report.End, objects report.Sync, worst health.Status) State {
	s := State{Sync: objects, Health: HealthAfter(end, worst), Ready: NotReady, Reason: end.Reason, Message: end.Message}
	switch end.Reason {
	case "", report.InProgress:
		s.Sync, s.Ready = report.Unknown, ReadyUnknown
	case report.SpecRefused, report.AccessDenied, report.SourceNotReady, report.DependencyNotReady, report.RenderFailed, report.ClusterFailed: // nothing was compared
		s.Sync = report.Unknown
	case report.AwaitingHealth:
		s.Ready = ReadyUnknown
	case report.Succeeded:
		s.Ready, s.Message = Ready, ""
		if worst.Code == health.Missing {
			s.Ready = NotReady
		}
	case report.HealthFailed:
	default:
		s.Sync = report.OutOfSync
	}
	return s
}

// HealthAfter returns the health of an app from how its newest run ended, and the worst health among its objects.
func HealthAfter(end report.End, worst health.Status) health.Status {
	switch {
	case end.Reason == report.SpecRefused || end.Reason == report.AccessDenied: // what is in the cluster may be of another spec
		return health.Status{Code: health.Unknown, Message: end.Message}
	case end.Reason == report.HealthFailed && worst.Code == health.Missing:
		return worst
	case end.Reason == report.HealthFailed:
		return WorseHealth(worst, health.Status{Code: health.Degraded, Message: end.Message})
	case worst.Code != "":
		return worst
	case end.Reason == report.Succeeded: // an app without objects
		return health.Status{Code: health.Healthy}
	case end.Reason == "":
		return health.Status{Code: health.Unknown, Message: "not run yet"}
	}
	return health.Status{Code: health.Unknown, Message: cmp.Or(end.Message, "the run has not ended")}
}

// Suspend returns the state of the same app while it is suspended.
func (s State) Suspend() State {
	s.Suspended, s.Reason = true, report.Suspended
	return s
}

// SyncText returns the sync status as people read it: Synced (suspended).
func (s State) SyncText() string {
	if s.Suspended {
		return string(s.Sync) + " (suspended)"
	}
	return string(s.Sync)
}

// Why returns what keeps the app from being Synced and Healthy, in a sentence. It is empty for an app that is both.
func (s State) Why() string {
	if s.Message != "" {
		return s.Message
	}
	return s.Health.Message
}

// healthOrder is that of Argo CD, from best to worst (gitops-engine/pkg/health).
var healthOrder = []health.Code{health.Healthy, health.Suspended, health.Progressing, health.Missing, health.Degraded, health.Unknown}

// WorseHealth returns the worse of two healths, the first of equal ones.
func WorseHealth(a, b health.Status) health.Status {
	if healthRank(b.Code) > healthRank(a.Code) {
		return b
	}
	return a
}

// healthRank places a word that is none of the six beside Unknown, and no word before all.
func healthRank(c health.Code) int {
	if i := slices.Index(healthOrder, c); i >= 0 || c == "" {
		return i
	}
	return len(healthOrder) - 1
}

// WorstHealth returns the worst health among an app's objects, and names the object. It is the zero value for no objects.
func WorstHealth(objects []report.Object) health.Status {
	var out health.Status
	for _, o := range objects {
		s := o.HealthStatus()
		of := health.Status{Code: s.ForApp(), Cause: s.Cause}
		if of.Code != health.Healthy {
			of.Message = strings.TrimSuffix(o.ID.String()+": "+s.Message, ": ")
		}
		out = WorseHealth(out, of)
	}
	return out
}

// differs returns whether all objects are as Git wants.
func differs(r report.Report) report.Sync {
	out := report.Synced
	if slices.ContainsFunc(r.Leaving, func(l report.ListedObject) bool { return !l.Extraneous }) {
		return report.OutOfSync
	}
	for _, o := range r.Objects {
		switch o.Sync() {
		case report.OutOfSync:
			return report.OutOfSync
		case report.Unknown:
			out = report.Unknown
		default:
		}
	}
	return out
}
