package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
)

const handOver = "Where the workload runs already, hand the count over first: of a field whose only owner drops it the default is left, so that " +
	"it falls to 1 at once. kubectl apply --server-side --field-manager=handover of the live count does that; truce does it by itself."

func replicasAutoscaled() rule {
	return rule{Rule{
		ID: "replicas-autoscaled", Severity: Error, Fixable: true,
		Title: "a workload has an autoscaler, and its manifest names replicas",
		Reason: "Two writers hold one field. Each time Git is applied the count falls back to Git's, and the autoscaler moves it again 15 s " +
			"later: pods start and stop for ever, under load with errors. Flux forces Git's count at every reconciliation, Argo CD at every sync " +
			"and within seconds with selfHeal; neither knows of autoscalers. Applying without force does not help: where the field had " +
			"no owner, Git's count was taken without a conflict, 5 to 3. And when the autoscaler is removed while the manifest still names a " +
			"count, the workload drops to that count at once.",
		Remedy: "Remove replicas from the base, and from every overlay, patch, component and replicas: entry. " + handOver +
			"\n\nWhere it has to stay in Git, take the field out of what is applied. Flux 2.9 and later, and truce:\n\n" +
			"    spec:\n      ignore:\n      - paths: [/spec/replicas]\n        target: {kind: Deployment, name: web}\n\n" +
			"Argo CD, where the option is needed, too: without it only the display changes:\n\n" +
			"    spec:\n      ignoreDifferences:\n      - {group: apps, kind: Deployment, name: web, jsonPointers: [/spec/replicas]}\n" +
			"      syncPolicy:\n        syncOptions: [RespectIgnoreDifferences=true]",
		Source: "https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership; measured on kube-apiserver 1.37.1 and " +
			"with Flux's kustomize-controller and Argo CD's diff",
	}, func(j *checker) []Finding { return j.contested(writtenBelow) }}
}

func replicasPutBack() rule {
	return rule{Rule{
		ID: "replicas-put-back", Severity: Error, Fixable: true,
		Title: "an overlay sets replicas that the base of an autoscaled workload leaves to its autoscaler",
		Reason: "The manifest does not name replicas, as it should be, and an overlay, a patch, a component or a replicas: entry adds " +
			"the field again: the manifest looks right, and the count is still reset each time Git is applied.",
		Remedy: "Remove the overlay's entry. " + handOver,
		Source: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/replicas/; measured on kube-apiserver 1.37.1",
	}, func(j *checker) []Finding { return j.contested(putBack) }}
}

// namingOrigin Git comes to name a count.
type namingOrigin string

const (
	writtenBelow namingOrigin = "by the manifest"
	putBack      namingOrigin = "by an overlay alone"
)

// contested finds autoscaled objects of which Git names the count in that way.
func (j *checker) contested(in namingOrigin) []Finding {
	if j.counted == nil {
		j.counted = map[namingOrigin][]Finding{}
		for _, s := range j.scaling().scaled {
			if f, in := j.contest(s); in != "" {
				j.counted[in] = append(j.counted[in], f)
			}
		}
	}
	return j.counted[in]
}

// contest judges one; no way where nothing is wrong.
func (j *checker) contest(s scaled) (Finding, namingOrigin) {
	count, there := field.ValueAt(s.object.Data, s.claim.Path)
	if !there || s.leftAlone() {
		return Finding{}, ""
	}
	ignored := s.ignoring(s.claim.Path)
	if ignored.rule != "" && ignored.respect {
		return Finding{}, ""
	}
	places, wins := j.files.places(s.described)(s.claim.Path)
	if wins < 0 {
		places, wins = []desired.Place{j.files.whole(*s.object)}, 0
	}
	in := namingWay(places)
	f := Finding{
		Unit: s.unit.Name(), Object: s.id(), Path: s.claim.Path, Place: places[wins],
		Others: slices.Concat(places[:wins], places[wins+1:]), Severity: s.severity(),
	}
	f.Message = s.says(count, in) + "; " + s.fate(count, ignored) + s.meeting.unless(s.by.unit, s.unit)
	f.Remedy = s.remedy(f)
	return f, in
}

// namingWay returns, from the places of a field, whether the manifest names it.
func namingWay(places []desired.Place) namingOrigin {
	for _, p := range places {
		if p.Means == desired.ByManifest || p.Means == desired.ByTemplate {
			return writtenBelow
		}
	}
	return putBack
}

// severity is less where nothing happens at present, or where it is not known whether it does.
func (s scaled) severity() Severity {
	switch {
	case s.unit.App.Suspended:
		return Info
	case s.meeting == perhaps:
		return Warning
	}
	return ""
}

func (s scaled) says(count any, in namingOrigin) string {
	verb := "Git says"
	if in == putBack {
		verb = "this puts back"
	}
	return fmt.Sprintf("%s, and %s %v", s.who(), verb, count)
}

// fate is what becomes of the autoscaler's count.
func (s scaled) fate(count any, ignored ignoring) string {
	text := ""
	switch a := s.unit.App; {
	case s.unit.App.Release != nil:
		text = s.chartFate(count)
	case s.unit.Dialect == discover.Flux:
		text = fmt.Sprintf("every reconciliation of %s resets it to %v", s.unit.Name(), count)
	case s.unit.Dialect == discover.ArgoCD && ignored.rule != "":
		text = fmt.Sprintf("%s only hides that: without RespectIgnoreDifferences=true every sync of Argo CD resets it to %v", ignored.whose(s.unit), count)
	case s.unit.Dialect == discover.ArgoCD && a.Rollout != app.OnRequest && a.Policy.Remediation == policy.Remediate:
		text = fmt.Sprintf("the self-heal of %s resets it to %v within seconds, again and again", s.unit.Name(), count)
	case s.unit.Dialect == discover.ArgoCD:
		text = fmt.Sprintf("every sync of %s resets it to %v", s.unit.Name(), count)
	default:
		text = fmt.Sprintf("every apply of %s resets it to %v", s.unit.Name(), count)
	}
	if s.unit.App.Suspended {
		text += ", once it is not suspended any more"
	}
	return text
}

func (s scaled) remedy(f Finding) string {
	if s.unit.IsOfChart(s.object.File) {
		return s.chartRemedy()
	}
	text := "remove " + strings.TrimPrefix(field.PathString(f.Path), ".") + " here"
	for i, p := range f.Others {
		text += []string{" and in ", ", "}[min(i, 1)] + p.String()
	}
	if s.by.object == nil {
		return text + ", or the mark by which " + s.claim.Who + " has it"
	}
	return text + "; where it runs already, hand the count over first (truce does), or it falls to 1"
}
