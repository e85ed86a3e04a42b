package argocd

import (
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

// ranHooks are the objects that the hooks of the newest operation with hooks have left. As in Argo CD they have no status, and a person may delete them.
func ranHooks(r report.Report, had []resourceStatus) []resourceStatus {
	if len(r.Rollout.Hooks) == 0 {
		return slices.DeleteFunc(slices.Clone(had), func(o resourceStatus) bool { return !o.Hook })
	}
	var out []resourceStatus
	for _, h := range r.Rollout.Hooks {
		if !h.IsDeleted && !slices.ContainsFunc(out, func(o resourceStatus) bool {
			return o.Group == h.ID.Group && o.Kind == h.ID.Kind && o.Namespace == h.ID.Namespace && o.Name == h.ID.Name
		}) {
			out = append(out, resourceStatus{
				Group: h.ID.Group, Version: h.Version, Kind: h.ID.Kind, Namespace: h.ID.Namespace, Name: h.ID.Name, Hook: true, RequiresPruning: true, SyncWave: int64(h.Weight),
			})
		}
	}
	return out
}

// hookResultOf is how a hook ran, as Argo CD says it.
func hookResultOf(h hook.Outcome) resourceResult {
	phase := map[hook.Phase]string{hook.Succeeded: phaseSucceeded, hook.Failed: phaseFailed}[h.Run.Phase]
	return resourceResult{
		Group: h.ID.Group, Version: h.Version, Kind: h.ID.Kind, Namespace: h.ID.Namespace, Name: h.ID.Name, Status: "Synced",
		HookType: string(h.Event), HookPhase: textOrDefault(phase, phaseRunning), SyncPhase: string(h.Event), Message: h.Run.Message,
	}
}
