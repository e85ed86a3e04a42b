package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/object"
)

func hpaTargetMissing() rule {
	return rule{Rule{
		ID: "hpa-target-missing", Severity: Warning,
		Title: "an autoscaler's target is not there",
		Reason: "The HPA controller looks for group, kind and name in the HPA's own namespace. It finds nothing, says so in the condition " +
			"AbleToScale (FailedGetScale), and the workload keeps whatever count it has, also under load. A group that is not the workload's is " +
			"as bad as a wrong name: Deployment is of apps, and no longer of extensions.",
		Remedy: "Correct scaleTargetRef: apiVersion with the group, kind, name; and the namespace of the autoscaler.",
		Source: "Kubernetes pkg/controller/podautoscaler/horizontal.go; spec.scaleTargetRef",
	}, func(j *checker) []Finding {
		var out []Finding
		for _, s := range j.scaling().scalers {
			if len(s.targets) > 0 && !s.groupless() || variable(s.Target) || !isHorizontalAutoscaler(s.object.ID) && !isScaledObject(s.object.ID) {
				continue
			}
			f := j.finding(s.described, field.NewPath("spec", "scaleTargetRef"))
			if f.Message, f.Remedy, f.Severity = j.missing(s); f.Message != "" {
				out = append(out, f)
			}
		}
		return out
	}}
}

// groupless reports whether an HPA names no API group, which means the core group, where nothing scales but ReplicationController.
func (s *scaler) groupless() bool {
	return isHorizontalAutoscaler(s.object.ID) && s.Target.Group == "" && s.At.Group == ""
}

// missing says why the target is not there, as far as the described objects show; empty where what was not looked into makes it.
func (j *checker) missing(s *scaler) (message, remedy string, sev Severity) {
	who, want := shortName(s.id()), fmt.Sprintf("%s %s/%s", targetKind(s.Target), s.Target.Namespace, s.Target.Name)
	same := j.met(s, j.byName()[lookupName(s.Target)])
	if len(same) > 0 && same[0].object.ID.Group != s.Target.Group {
		there := same[0]
		return fmt.Sprintf("%s means %s, and what is there is %s (%s)", who, want, there.id(), there.at()), "write apiVersion: " + there.object.Data.APIVersion(), Error
	}
	if d, ok := j.elsewhere(s); ok {
		return fmt.Sprintf("%s means %s, and no app describes it; %s (%s) is in another namespace, and an autoscaler sees none but its own", who, want, d.id(), d.at()),
			"put the autoscaler into namespace " + d.id().Namespace, ""
	}
	if d, ok := j.alike(s); ok {
		return fmt.Sprintf("%s means %s, and nothing describes it: did you mean %s (%s)?", who, want, d.object.ID.Name, d.at()), "write name: " + d.object.ID.Name, ""
	}
	for _, kind := range scalable {
		if other := j.met(s, j.byName()[lookupKey{kind, s.Target.Namespace, s.Target.Name}]); len(other) > 0 {
			return fmt.Sprintf("%s means %s, and nothing describes it; %s (%s) is what has that name", who, want, other[0].id(), other[0].at()), "write kind: " + kind, ""
		}
	}
	if !s.groupless() && j.isUnseenApp(s.Target) {
		return "", "", ""
	}
	message = fmt.Sprintf("%s means %s, and nothing in this repository describes it", who, want)
	remedy = "correct scaleTargetRef, or remove " + who
	if j.hasUnseen() {
		return message + "; what was not looked into may hold it", remedy, Info
	}
	return message, remedy, ""
}

// scalable are kinds that people mistake for one another.
var scalable = []string{"Deployment", "StatefulSet", "Rollout", "ReplicaSet"}

func targetKind(id object.ID) string {
	if id.Group == "" {
		return id.Kind
	}
	return id.Kind + "." + id.Group
}

// met leaves those that may be in the scaler's cluster.
func (j *checker) met(s *scaler, all []described) []described {
	return slices.DeleteFunc(slices.Clone(all), func(d described) bool { return j.reach().meet(s.unit, d.unit) == "" })
}

// elsewhere finds the only one of kind and name that is in another namespace and in the scaler's unit.
func (j *checker) elsewhere(s *scaler) (described, bool) {
	return j.only(s, func(id object.ID) bool { return id.Name == s.Target.Name && id.Namespace != s.Target.Namespace })
}

// alike finds the one whose name is nearest.
func (j *checker) alike(s *scaler) (described, bool) {
	var names []string
	j.only(s, func(id object.ID) bool {
		if id.Namespace == s.Target.Namespace {
			names = append(names, id.Name)
		}
		return false
	})
	near := ignore.NearWords(s.Target.Name, names)
	if len(near) == 0 {
		return described{}, false
	}
	return j.only(s, func(id object.ID) bool { return id.Namespace == s.Target.Namespace && id.Name == near[0] })
}

// only finds the one object of the target's group and kind in the scaler's unit for which holds says so.
func (j *checker) only(s *scaler, holds func(object.ID) bool) (described, bool) {
	var found described
	n := 0
	for k := range s.unit.Objects {
		d := described{s.unit, &s.unit.Objects[k]}
		if id := d.id(); id.Kind == s.Target.Kind && id.Group == s.Target.Group && holds(id) {
			found, n = d, n+1
		}
	}
	return found, n == 1
}

// isUnseenApp reports whether an app was not looked into that has the name of an object: most charts have a workload with the release's name.
func (j *checker) isUnseenApp(id object.ID) bool {
	return slices.ContainsFunc(j.discovery.Skipped, func(k discover.Skipped) bool { return strings.HasSuffix(k.What, " "+id.Namespace+"/"+id.Name) })
}

// hasUnseen reports whether something was not looked into that may describe an object.
func (j *checker) hasUnseen() bool {
	return slices.ContainsFunc(j.discovery.Skipped, func(k discover.Skipped) bool { return !k.NoObject && !k.Variant }) ||
		slices.ContainsFunc(j.discovery.Units, func(u discover.Unit) bool { return u.Err != nil })
}
