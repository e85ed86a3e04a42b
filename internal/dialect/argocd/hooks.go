package argocd

import (
	"cmp"
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// waveKeys are the annotations with the wave of an object, whether it is a hook or not: Argo CD's, else Helm's weight.
var waveKeys = []string{theirs + "sync-wave", "helm.sh/hook-weight"}

// moments are those at which Argo CD makes an object. Of Helm's hooks it knows these (docs/user-guide/helm.md of argo-cd), and makes the
// others never; crd-install is none.
var moments = optout.Moments{
	{
		Annotation: theirs + "hook", Names: map[string]string{"Skip": ""}, Weights: waveKeys,
		Deleted: theirs + "hook-delete-policy", Deletions: map[string]string{
			"BeforeHookCreation": string(hook.BeforeCreation), "HookSucceeded": string(hook.WhenSucceeded), "HookFailed": string(hook.WhenFailed),
		},
	},
	{
		Annotation: "helm.sh/hook", Closed: true, Except: "crd-install", Names: map[string]string{
			"pre-install": string(hook.PreSync), "pre-upgrade": string(hook.PreSync), "post-install": string(hook.PostSync), "post-upgrade": string(hook.PostSync),
			"pre-delete": string(hook.BeforeEnd), "post-delete": string(hook.AfterEnd),
		},
		Weights: waveKeys,
		Deleted: "helm.sh/hook-delete-policy", Deletions: map[string]string{
			string(hook.BeforeCreation): string(hook.BeforeCreation), string(hook.WhenSucceeded): string(hook.WhenSucceeded),
			string(hook.WhenFailed): string(hook.WhenFailed),
		},
	},
}

// hookOutcomes are the hooks of the newest operation, as the status has them.
func hookOutcomes(s applicationStatus) []hook.Outcome {
	if s.OperationState == nil || s.OperationState.SyncResult == nil {
		return nil
	}
	var out []hook.Outcome
	for _, r := range s.OperationState.SyncResult.Resources {
		if r.HookType == "" {
			continue
		}
		out = append(out, hook.Outcome{
			ID: object.ID{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, Version: r.Version, Event: hook.Event(r.HookType),
			Run: hook.Run{Phase: hook.Phase(r.HookPhase), Message: r.Message},
		})
	}
	return out
}

// ranHooks are the objects that the hooks of operations have left: those of the newest operation in the order in which they ran, then the others. As in
// Argo CD they have no status, and a person may delete them.
func ranHooks(r report.Report, had []resourceStatus) []resourceStatus {
	if r.Hooks == nil {
		return slices.DeleteFunc(slices.Clone(had), func(o resourceStatus) bool { return !o.Hook })
	}
	place := func(o report.Object) int {
		i := slices.IndexFunc(r.Rollout.Hooks, func(h hook.Outcome) bool { return h.ID == o.ID })
		if i < 0 {
			return len(r.Rollout.Hooks)
		}
		return i
	}
	left := slices.Clone(r.Hooks)
	slices.SortStableFunc(left, func(a, b report.Object) int { return cmp.Compare(place(a), place(b)) })
	var out []resourceStatus
	for _, o := range left {
		s := listedResource(report.ListedObject{ID: o.ID, Version: o.Version})
		s.Hook, s.RequiresPruning, s.SyncWave = true, true, int64(o.Wave)
		out = append(out, s)
	}
	return out
}

// skipped are the objects that ask never to be applied, without a status as in Argo CD.
func skipped(r report.Report) []resourceStatus {
	var out []resourceStatus
	for _, o := range r.Skipped {
		out = append(out, listedResource(o))
	}
	return out
}

func listedResource(o report.ListedObject) resourceStatus {
	return resourceStatus{Group: o.ID.Group, Version: o.Version, Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name}
}

// hookResultOf is how a hook ran, as Argo CD says it.
func hookResultOf(h hook.Outcome) resourceResult {
	phase := map[hook.Phase]string{hook.Succeeded: phaseSucceeded, hook.Failed: phaseFailed}[h.Run.Phase]
	return resourceResult{
		Group: h.ID.Group, Version: h.Version, Kind: h.ID.Kind, Namespace: h.ID.Namespace, Name: h.ID.Name, Status: "Synced",
		HookType: string(h.Event), HookPhase: textOrDefault(phase, phaseRunning), SyncPhase: string(h.Event), Message: h.Run.Message,
	}
}
