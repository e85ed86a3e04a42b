package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/health"
)

// State is an app's state in the words that every output uses: conditions, printer columns, commands, the page, JSON and metrics.
// Report.State and End.State are the only functions that make these words.
type State struct {
	Sync      Sync
	Health    health.Status // its message is empty only for Healthy
	Ready     Readiness
	Reason    Reason // of the newest run; empty before the first one
	Message   string // why the app is not as Git wants; empty where there is nothing to say
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

// State returns the state of the app that the report is about. A suspended app keeps the state that its objects and its newest run
// before the suspension give it.
func (r Report) State() State {
	end := End{Reason: r.Reason, Message: r.Message}
	switch {
	case r.Stage == "":
		end = End{}
	case r.Reason == Suspended:
		end = r.Before
	}
	s := end.State(r.sync(), WorstHealth(r.Objects))
	if end.Reason == Succeeded {
		s = s.without(r)
	}
	if r.Unfetched != "" && (s.Sync == Synced || s.Sync == OutOfSync) {
		s.Sync, s.Message = Unknown, cmp.Or(s.Message, r.FetchFailure())
	}
	if s.Message == "" && s.Sync == OutOfSync {
		s.Message = r.Drift()
	}
	if r.Reason == Suspended {
		s = s.Suspend()
	}
	return s
}

// Stop says at which stage the run has stopped, and why: what most messages begin with themselves.
func (r Report) Stop() string {
	stage := string(r.Stage) + " "
	if r.Stage == Done || strings.HasPrefix(r.Message, stage) {
		return r.Message
	}
	return strings.TrimSpace(stage) + ": " + r.Message
}

// WithoutFiles reports whether a run has ended because its source does not have what the app names.
func (r Report) WithoutFiles() bool { return r.Reason == SourceNotReady && r.Stage == Render }

// FetchFailure says why Git may have a newer revision, and with which one the cluster is compared meanwhile; empty where the source was fetched.
func (r Report) FetchFailure() string {
	if r.Unfetched == "" || r.Revision == "" {
		return r.Unfetched
	}
	return r.Unfetched + "; compared with " + r.Revision + ", the last revision that was fetched"
}

// without is the state of an app of which an object is or may be missing: it is not ready, and not known to be synced.
func (s State) without(r Report) State {
	why, suspected := r.Missing()
	switch {
	case suspected:
		s.Ready, s.Sync, s.Message = ReadyUnknown, Unknown, why
	case why != "":
		s.Ready, s.Message = NotReady, why
	}
	return s
}

// State returns the state of an app whose newest run ended so, from whether its objects are as Git wants, and the worst health among
// them, whose zero value says that no object is known.
func (end End) State(objects Sync, worst health.Status) State {
	s := State{Sync: objects, Health: end.Health(worst), Ready: NotReady, Reason: end.Reason, Message: end.Message}
	switch end.Reason {
	case "", InProgress:
		s.Sync, s.Ready = Unknown, ReadyUnknown
	case SpecRefused, AccessDenied, SourceNotReady, DependencyNotReady, RenderFailed, ValuesFailed, ClusterFailed: // nothing was compared
		s.Sync = Unknown
	case AwaitingHealth:
		s.Ready = ReadyUnknown
	case Succeeded:
		s.Ready, s.Message = Ready, ""
		if worst.Code == health.Missing {
			s.Ready = NotReady
		}
	case HealthFailed, HookFailed:
	default:
		s.Sync = OutOfSync
	}
	return s
}

// Health returns the health of an app whose newest run ended so, from the worst health among its objects.
func (end End) Health(worst health.Status) health.Status {
	switch {
	case end.Reason == SpecRefused || end.Reason == AccessDenied: // what is in the cluster may be of another spec
		return health.Status{Code: health.Unknown, Message: end.Message}
	case end.Reason == HealthFailed && worst.Code == health.Missing:
		return worst
	case end.Reason == HealthFailed:
		return worst.Worse(health.Status{Code: health.Degraded, Message: end.Message})
	case end.Reason == AwaitingHealth: // also of objects that are not the app's own
		return worst.Worse(health.Status{Code: health.Progressing, Message: end.Message})
	case worst.Code != "":
		return worst
	case end.Reason == Succeeded: // an app without objects
		return health.Status{Code: health.Healthy}
	case end.Reason == "":
		return health.Status{Code: health.Unknown, Message: "not run yet"}
	}
	return health.Status{Code: health.Unknown, Message: cmp.Or(end.Message, "the run has not ended")}
}

// Suspend returns the state of the same app while it is suspended.
func (s State) Suspend() State {
	s.Suspended, s.Reason = true, Suspended
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

// WorstHealth returns the worst health among an app's objects, and names the object. It is the zero value for no objects.
func WorstHealth(objects []Object) health.Status {
	var out health.Status
	for _, o := range objects {
		s := o.HealthStatus()
		of := health.Status{Code: s.ForApp(), Cause: s.Cause}
		if of.Code != health.Healthy {
			of.Message = strings.TrimSuffix(o.ID.String()+": "+s.Message, ": ")
		}
		out = out.Worse(of)
	}
	return out
}

// sync returns whether all objects are as Git wants.
func (r Report) sync() Sync {
	out := Synced
	if slices.ContainsFunc(r.Leaving, func(l ListedObject) bool { return !l.Extraneous }) {
		return OutOfSync
	}
	for _, o := range r.Objects {
		switch o.Sync() {
		case OutOfSync:
			return OutOfSync
		case Unknown:
			out = Unknown
		default:
		}
	}
	return out
}
