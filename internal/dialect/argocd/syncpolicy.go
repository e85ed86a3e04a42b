package argocd

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/pause"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// syncPolicy reads when syncs happen and what they may do.
func (r *reading) syncPolicy(a *app.App, spec applicationSpec) {
	p := spec.SyncPolicy
	if p == nil {
		p = &syncPolicy{}
	}
	a.Rollout, a.Prune = app.OnRequest, policy.PruneReport
	a.KeepDefinitions = true // controller/appcontroller.go, shouldBeDeleted
	a.Policy.Remediation = policy.RemediateInRollouts
	if auto := p.Automated; auto != nil && (auto.Enabled == nil || *auto.Enabled) {
		a.Rollout = app.IfChanged
		a.AllowEmpty = auto.AllowEmpty
		if auto.Prune {
			a.Prune = policy.PruneDelete
		}
		if auto.SelfHeal {
			a.Policy.Remediation = policy.Remediate
		}
	}
	a.Retry, a.Backoff = r.retry("spec.syncPolicy.retry", p.Retry, a.Rollout)
	r.options(a, p.SyncOptions)
	if m := p.ManagedNamespaceMetadata; m != nil {
		a.DefaultNamespace.Labels, a.DefaultNamespace.Annotations = m.Labels, m.Annotations
		if !a.DefaultNamespace.Make {
			r.Note("spec.syncPolicy.managedNamespaceMetadata has no effect without the sync option CreateNamespace=true")
		}
	}
}

// Argo CD's defaults of spec.syncPolicy.retry, as of common/common.go and controller/appcontroller.go.
const (
	firstPause     = 5 * time.Second
	longestPause   = 3 * time.Minute
	pauseFactor    = 2
	automatedTries = 5
)

// retry reads how failed syncs are repeated. Absent, an automated one is tried five times, one that was asked for once.
func (r *reading) retry(at string, in *retry, rollout app.Rollout) (time.Duration, pause.Backoff) {
	out := pause.Backoff{Factor: pauseFactor, Max: longestPause, Limit: automatedTries}
	if in == nil {
		if rollout == app.OnRequest {
			out.Limit = -1
		}
		return firstPause, out
	}
	switch {
	case in.Limit == 0:
		out.Limit = -1
	case in.Limit < 0:
		out.Limit = 0
	default:
		out.Limit = in.Limit
	}
	first := firstPause
	if b := in.Backoff; b != nil {
		first = r.pause(at+".backoff.duration", b.Duration, firstPause)
		out.Max = r.pause(at+".backoff.maxDuration", b.MaxDuration, longestPause)
		if b.Factor != nil && *b.Factor > 0 {
			out.Factor = *b.Factor
		}
	}
	return first, out
}

// pause reads a duration such as 5s; a bare number is seconds.
func (r *reading) pause(at, text string, otherwise time.Duration) time.Duration {
	if text == "" {
		return otherwise
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n < math.MaxInt64/int64(time.Second) {
		return max(time.Duration(n)*time.Second, time.Millisecond)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		r.Problem(at, "want a duration such as 5s or 3m, not %q", text)
		return otherwise
	}
	return max(d, time.Millisecond)
}

// option is what a sync option does here; without a why, it is done in any case, or read by whom it concerns.
type option struct{ why string }

// options are Argo CD's, by NAME=VALUE; NAME alone stands for any other value.
var options = map[string]option{
	createNamespace: {}, "CreateNamespace=false": {}, pruneNever: {}, "Prune=true": {}, deleteNever: {}, "Delete=true": {},
	pruneConfirm: {}, deleteConfirm: {why: "keeps objects when the Application is deleted: nothing confirms the deletion"},
	"PruneLast": {}, "RespectIgnoreDifferences": {}, "ServerSideApply": {}, "ServerSideApply=false": {why: "has no effect: objects are always applied server-side"}, "ApplyOutOfSyncOnly": {}, "FailOnSharedResource": {},
	"SkipDryRunOnMissingResource": {}, "ClientSideApplyMigration": {}, "Validate=true": {}, "Replace=false": {}, "Force=false": {},
	"Validate=false":         {why: "has no effect: the API server validates what is applied"},
	"PrunePropagationPolicy": {why: "has no effect: dependents are deleted in the background"},
	"Replace=true":           {why: "has no effect: objects are applied server-side, which needs no annotation with the whole object, and leaves what others have added"},
	forceObject:              {why: "has no effect on an Application: it is an option of single objects"},
}

// The options that truce acts on.
const (
	createNamespace    = "CreateNamespace=true"
	applyOutOfSyncOnly = "ApplyOutOfSyncOnly=true"
	pruneNever         = "Prune=false"
	pruneConfirm       = "Prune=confirm"
	deleteNever        = "Delete=false"
	deleteConfirm      = "Delete=confirm"
	forceObject        = "Force=true" // kubectl apply --force: deleted and created where the API server refuses to change it
)

// options reads spec.syncPolicy.syncOptions.
func (r *reading) options(a *app.App, list []string) {
	const at = "spec.syncPolicy.syncOptions"
	for _, text := range list {
		o, known := optionOf(text)
		switch {
		case !known:
			r.Note("%s: %s has no effect: no such option", at, text)
		case o.why != "":
			r.Note("%s: %s %s", at, text, o.why)
		}
		switch text {
		case applyOutOfSyncOnly:
			a.ListsWritten = true
		case createNamespace:
			a.DefaultNamespace.Make = a.DefaultNamespace.Name != ""
		}
	}
	a.PruneRestraint, a.DeleteRestraint = restraintOf(list, pruneNever, pruneConfirm), restraintOf(list, deleteNever, deleteConfirm)
}

// restraintOf is the stricter of two sync options in a list.
func restraintOf(list []string, never, confirm string) policy.Restraint {
	for _, text := range []string{never, confirm} {
		if slices.Contains(list, text) {
			return policy.Restraint{Never: text == never, Mark: "sync option " + text}
		}
	}
	return policy.Restraint{}
}

func optionOf(text string) (option, bool) {
	if o, known := options[text]; known {
		return o, true
	}
	name, _, _ := strings.Cut(text, "=")
	o, known := options[name]
	return o, known
}
