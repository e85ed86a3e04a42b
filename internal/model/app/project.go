package app

import (
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
)

// InProject is the app as it is bound by its project: what that does not permit is a Problem.
func (a App) InProject(known project.Known) App {
	name := a.Member.Project
	if name == "" {
		return a
	}
	switch known.State {
	case project.Unserved:
		if name != project.Default {
			a.Notes = append(a.Notes[:len(a.Notes):len(a.Notes)], "spec.project has no effect: the API server serves no AppProjects, and so nothing is known of "+name)
		}
		return a
	case project.Refused:
		return a.refusedBy(fmt.Sprintf("what AppProject %s permits cannot be read: %v", name, known.Err))
	case project.Awaited:
		return a
	case project.Listed:
	}
	p, why := known.ForMember(a.Member)
	if p != nil {
		why = p.Refusal(a.Member)
		if namespace, name := p.AccountFor(a.Member); name != "" && a.Account.IsSelf() {
			a.Account = identity.Account{Namespace: namespace, Name: name} // also of one that is refused: its objects are deleted with the account's rights
		}
	}
	if a.Project = p; why != "" {
		return a.refusedBy(why)
	}
	return a
}

// InCluster is the app with what is known of the cluster that its destination names.
func (a App) InCluster(c project.Cluster) App {
	a.Member.Cluster = c
	a.Member.Destination.Server, a.Member.Destination.Name = c.Server, c.Name
	a.Kubeconfig.Own = c.Own
	return a
}

// Ignoring is the app with rules that it has in common with others of its installation, besides its own, and what cannot be read of them.
func (a App) Ignoring(shared ignore.Rules, problems []Problem) App {
	a.Ignore = slices.Concat(a.Ignore, shared)
	if !a.Deleting {
		a.Problems = slices.Concat(a.Problems, problems)
	}
	return a
}

// RefuseCluster is the app whose other cluster cannot be worked in, and why. Of a named one it is a Problem, as in Argo CD, unless the app is being deleted: then its
// objects stay where they are until they can be deleted.
func (a App) RefuseCluster(why string) App {
	a.Kubeconfig.Refused = why
	if a.Kubeconfig.IsNamed() && !a.Deleting {
		a.Problems = append(slices.Clip(a.Problems), Problem{Field: "spec.destination", Reason: why})
	}
	return a
}

// ArgoNamespace is where the settings and the cluster Secrets of its Argo CD are: beside the project of the app, or beside the app where that has none.
func (a App) ArgoNamespace() string {
	if a.Project != nil {
		return a.Project.Namespace
	}
	return a.Key.Namespace
}

// refusedBy is an app that its project refuses. One that is being deleted goes all the same: what the project does not permit stays.
func (a App) refusedBy(why string) App {
	if !a.Deleting {
		a.Problems = append(a.Problems[:len(a.Problems):len(a.Problems)], Problem{Field: "spec.project", Reason: why, Denied: true})
	}
	return a
}

// ProjectRefusal says why the app's project, or the Secret of its cluster, does not permit an object; empty where they do, or where there is none.
func (a App) ProjectRefusal(id object.ID) string {
	if why := a.Member.Cluster.RefusalOf(id); why != "" {
		return why
	}
	if a.Project == nil {
		return ""
	}
	return a.Project.RefusalOf(id, a.Member.Destination)
}

// WithinWindows is the app as the sync windows of its project leave it at a time. While they keep syncs out, it waits as one does that is synced on
// request alone; a request that they keep out, too, is refused.
func (a App) WithinWindows(now time.Time) App {
	if a.Project == nil {
		return a
	}
	said := a.Project.WindowsFor(a.Member, now)
	if said.Automated {
		return a
	}
	if a.Rollout != OnRequest {
		a.Rollout, a.AwaitsWindow = OnRequest, true
		a.Notes = append(a.Notes[:len(a.Notes):len(a.Notes)], "nothing is synced by itself: "+said.Why)
	}
	if (!said.Manual || a.SyncRequest.Automated) && a.SyncRequest.Token != "" && a.SyncRequest.Refused == "" {
		a.SyncRequest.Refused = "blocked by sync window: " + said.Why
	}
	return a
}

// NextWindow is when the sync windows of the app's project are to be asked again; zero for never.
func (a App) NextWindow(now time.Time) time.Time {
	if a.Project == nil {
		return time.Time{}
	}
	return a.Project.WindowsFor(a.Member, now).Next
}
