// Package sample answers: what do the messages of truce look like?
//
// In: a time, and the namespace of a Provider.
// Out: one message of each kind, as a controller would send it: each matter opens before it ends.
// Promise: pure; the same input gives the same messages; none is about an object of a cluster.
// Not here: sending them (deliver), the forms of receivers (payload).
package sample

import (
	"maps"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// Revision is that of all samples.
const Revision = "main@sha1:58ce9c2c5cd0b5c5b1b7d5ae6b1f0a0e1c2d3e4f"

const (
	deployment = "Deployment.apps shop/web"
	replicas   = ".spec.replicas"
)

// Messages returns the samples in the order of time, the last one at the given time.
func Messages(at time.Time, namespace string) []notify.Message {
	all := append(append(sampleDrift(), samplePrunes()...), sampleRuns()...)
	for i := range all {
		m := &all[i]
		if m.About.Kind == "" {
			m.About = object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Name: "sample"}
			m.APIVersion = "kustomize.toolkit.fluxcd.io/v1"
		}
		m.About.Namespace, m.UID = namespace, "00000000-0000-0000-0000-000000000000"
		m.At = at.Add(time.Duration(i-len(all)+1) * time.Second)
	}
	return all
}

// Reasons returns the reasons of the samples, each once.
func Reasons() []string {
	var out []string
	known := map[string]bool{}
	for _, m := range Messages(time.Time{}, "") {
		if !known[m.Reason] {
			out = append(out, m.Reason)
		}
		known[m.Reason] = true
	}
	return out
}

// sampleFacts returns the evidence of a finding about a count, with more.
func sampleFacts(verdict, writer string, more map[string]string) map[string]string {
	out := map[string]string{
		notify.FactObject: deployment, notify.FactField: replicas, notify.FactGit: "3", notify.FactLive: "5", notify.FactVerdict: verdict,
		notify.FactWriter: writer, notify.FactCertainty: "recorded", notify.FactSource: "apps/web/deployment.yaml:8",
	}
	maps.Copy(out, more)
	return out
}

func aboutSample(kind string, phase notify.Phase) notify.Matter {
	m := notify.Matter{Kind: kind, Phase: phase}
	if kind != matter.Failure && kind != matter.HeldPrune && kind != matter.Unhealthy {
		m.Object, m.Field = deployment, replicas
	}
	return m
}

// sampleNews is a message that is no error.
func sampleNews(reason, text string, m notify.Matter, evidence map[string]string) notify.Message {
	if m.Phase == notify.Opens {
		m.Form = reason
	}
	return notify.Message{Event: notify.Event{Severity: notify.Info, Reason: reason, Text: text}, Matter: m, Evidence: evidence}
}

// sampleAlarm is an error.
func sampleAlarm(reason, text string, m notify.Matter, evidence map[string]string) notify.Message {
	out := sampleNews(reason, text, m, evidence)
	out.Severity = notify.Error
	return out
}

const subject = deployment + " " + replicas + ": "

// sampleDrift are the messages about fields.
func sampleDrift() []notify.Message {
	const byHand, scaler = "kubectl (scale)", "scaler"
	const hpa = "HorizontalPodAutoscaler shop/web"
	more := func(name, value string) map[string]string { return map[string]string{name: value} }
	return []notify.Message{
		sampleNews("DriftCorrected", subject+"3 (Git) vs 5 (live, set by kubectl (scale)): put back", aboutSample(matter.Drift, notify.Ends), sampleFacts("Correct", byHand, more(notify.FactNext, "to keep 5, commit it"))),
		sampleAlarm("DriftDetected", subject+"3 (Git) vs 5 (live, set by kubectl (scale)): the app is suspended; truce app resume sample", aboutSample(matter.Drift, notify.Opens), sampleFacts("Hold", byHand, more(notify.FactBecause, "the app is suspended"))),
		sampleNews("DriftEnded", subject+"no longer differs from Git", aboutSample(matter.Drift, notify.Ends), nil),
		sampleAlarm("FieldContested", subject+"3 (Git) vs 5 (live, set by scaler): put back 3 times within an hour, tried again in 2m", aboutSample(matter.Contested, notify.Opens), sampleFacts("Contested", scaler, more(notify.FactNext, "end the other controller, or leave the field out of Git"))),
		sampleNews("FieldSettled", subject+"no longer contested, the field holds what Git wants or is no longer Git's", aboutSample(matter.Contested, notify.Ends), nil),
		sampleNews("FieldCeded", subject+"3 (Git) vs 5 (live, set by "+hpa+"): ignored: owned by "+hpa+" (ceded)", aboutSample(matter.Ceded, notify.Opens), sampleFacts("Cede", hpa, map[string]string{notify.FactClaimant: hpa, notify.FactNext: "leave replicas out of Git"})),
		sampleNews("AdditionReported", deployment+" .metadata.labels.team: nothing (Git) vs \"payments\" (live, set by kubectl (label)): stays", notify.Matter{}, nil),
		sampleAlarm("ClaimEnds", subject+"drops from 5 to 3 without "+hpa+": Git names 3; to keep the pods, name 5 in Git, or no count", notify.Matter{}, sampleFacts("Correct", hpa, nil)),
	}
}

// samplePrunes are the messages about deletions.
func samplePrunes() []notify.Message {
	const gone = "ConfigMap shop/settings"
	return []notify.Message{
		sampleAlarm("PruneHeld", "12 objects would be deleted, for Git no longer has them: "+gone+" and 11 more; this waits for approval", aboutSample(matter.HeldPrune, notify.Opens), map[string]string{notify.FactNext: "look at what would be deleted, and approve it: truce app approve-prune sample"}),
		sampleNews("PruneReleased", "no prune waits for a person any more", aboutSample(matter.HeldPrune, notify.Ends), nil),
		sampleNews("Pruned", "deleted, for Git no longer has it: "+gone, notify.Matter{}, map[string]string{notify.FactObject: gone, notify.FactBecause: Revision + " does not have it", notify.FactNext: "to have it back, revert the commit"}),
	}
}

// sampleRuns are the messages about runs, the health and releases of apps.
func sampleRuns() []notify.Message {
	release := func(m notify.Message) notify.Message {
		m.About = object.ID{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Name: "sample"}
		m.APIVersion = "helm.toolkit.fluxcd.io/v2"
		return m
	}
	named := func(version string, more map[string]string) map[string]string {
		out := map[string]string{notify.FactObject: "release shop/sample." + version + " of chart sample@1.2.3"}
		maps.Copy(out, more)
		return out
	}
	failure, success := aboutSample(matter.Failure, notify.Opens), aboutSample(matter.Failure, notify.Ends)
	all := []notify.Message{
		sampleNews("DependencyNotReady", "dependency shop/database is not ready", notify.Matter{}, nil),
		sampleAlarm("BuildFailed", "kustomize build apps/web: kustomization.yaml:7: deployment.yaml: no such file", failure, nil),
		sampleNews("ReconciliationSucceeded", "Applied revision: "+Revision, success, nil),
		sampleAlarm("HealthDegraded", deployment+" is Degraded: container web of pod web-7d4b9c: CrashLoopBackOff: exit code 1", aboutSample(matter.Unhealthy, notify.Opens), map[string]string{notify.FactObject: deployment, notify.FactBecause: "container web of pod web-7d4b9c: CrashLoopBackOff: exit code 1"}),
		sampleNews("HealthRecovered", "healthy again; it was: "+deployment+" is Degraded: container web of pod web-7d4b9c: CrashLoopBackOff: exit code 1", aboutSample(matter.Unhealthy, notify.Ends), map[string]string{notify.FactObject: deployment}),
		release(sampleNews("InstallSucceeded", "Helm install succeeded for release shop/sample.v1 with chart sample@1.2.3", success, named("v1", nil))),
		release(sampleAlarm("UpgradeFailed", "Helm upgrade failed for release shop/sample.v2 with chart sample@1.2.3", failure, named("v2", map[string]string{notify.FactBecause: "the Job shop/migrate of a hook failed", notify.FactNext: "commit a fix; it is tried again until the attempts are used up"}))),
		release(sampleAlarm("RollbackSucceeded", "Helm rollback to release shop/sample.v1 succeeded", failure, named("v1", map[string]string{notify.FactNext: "commit a fix; what failed is not tried again by itself"}))),
		release(sampleNews("UpgradeSucceeded", "Helm upgrade succeeded for release shop/sample.v3 with chart sample@1.2.3", success, named("v3", nil))),
	}
	for i := range all {
		all[i].Revision = Revision
	}
	return all
}
