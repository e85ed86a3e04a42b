package rules

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func hpaGitOutside() rule {
	return rule{Rule{
		ID: "hpa-git-outside", Severity: Warning, Fixable: true,
		Title: "Git's replicas are outside the bounds of the autoscaler",
		Reason: "Each apply of Git takes the workload to a count that its autoscaler does not allow, and the autoscaler takes it back within " +
			"15 s without asking any metric. Git's 0 does more: an HPA does not scale from 0 replicas as long as its minReplicas is more, so that " +
			"the workload stays down until a person scales it.",
		Remedy: "Remove replicas from Git. What the workload is to start with belongs into minReplicas.",
		Source: "Kubernetes pkg/controller/podautoscaler/horizontal.go (ScalingDisabled; \"Current number of replicas above Spec.MaxReplicas\")",
	}, func(j *checker) []Finding {
		var out []Finding
		for _, s := range j.scaling().scaled {
			value, _ := field.ValueAt(s.object.Data, s.claim.Path)
			count, whole := field.WholeNumber(value)
			if !whole || s.by.object == nil || s.allows(count) || s.leftAlone() {
				continue
			}
			if ignored := s.ignoring(s.claim.Path); ignored.rule == "" || !ignored.respect {
				out = append(out, j.outside(s, count))
			}
		}
		return out
	}}
}

// allows reports whether the count is within the bounds; those that cannot hold allow any.
func (s scaled) allows(count int64) bool {
	c := s.claim
	return c.Max < c.Min || count >= c.Min && count <= c.Max
}

func (j *checker) outside(s scaled, count int64) Finding {
	places, wins := j.files.places(s.described)(s.claim.Path)
	f := Finding{
		Unit: s.unit.Name(), Object: s.id(), Path: s.claim.Path, Severity: s.severity(),
		Place: j.files.whole(*s.object), Others: []desired.Place{j.whole(s.by)},
	}
	if wins >= 0 {
		f.Place = places[wins]
	}
	unless := s.meeting.unless(s.by.unit, s.unit)
	if count == 0 {
		f.Message = fmt.Sprintf("Git says 0, and %s: at 0 it stands still, and nothing starts again by itself%s", s.who(), unless)
		f.Remedy = "remove " + dottedField(s.claim.Path) + ", or remove the autoscaler if the workload is to be off"
		return f
	}
	f.Message = fmt.Sprintf("Git says %d, and %s%s", count, s.who(), unless)
	f.Remedy = "remove " + dottedField(s.claim.Path) + ", or change the bounds if this count is meant"
	return f
}
