package rules

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func objectNamedTwice() rule {
	return rule{Rule{
		ID: "object-named-twice", Severity: Error,
		Title: "two apps describe one object",
		Reason: "Where the two differ, each reconciliation undoes the other's: the object flaps, and both apps report that all is well. Where they " +
			"are alike nothing moves until it leaves one of them: that one's prune deletes it, and it is gone, with all that runs in it, until the " +
			"other one comes round. Flux says nothing of it; Argo CD shows SharedResourceWarning, and stops with FailOnSharedResource=true only.",
		Remedy: "Let one app have it. What several need, such as a Namespace or a CRD, belongs into an app of its own, on which the others depend.",
		Source: "kubernetes server-side apply with force (kustomize-controller); Argo CD's condition SharedResourceWarning",
	}, func(j *checker) []Finding {
		var out []Finding
		for _, alike := range j.sharedAlike() {
			out = append(out, j.sharedFinding(alike))
		}
		return out
	}}
}

// sharing is what two apps both describe, in step.
type sharing struct {
	first, second []described
	meeting       meeting
	compared      *int // see unlike
}

// shared finds what pairs of apps both describe, in the order of the survey. Of two roots that no app applies nothing is known.
func (j *checker) shared() []*sharing {
	byID := map[object.ID][]described{}
	pairs := map[[2]*discover.Unit]*sharing{}
	var out []*sharing
	for d := range j.described() {
		if d.unit.Dialect == discover.Bare || d.leftAlone() || j.isDormant(d.unit) {
			continue
		}
		id := identity(d)
		if variable(id) {
			continue
		}
		if before, m := j.firstOf(byID[id], d); m != "" {
			pair := [2]*discover.Unit{before.unit, d.unit}
			if pairs[pair] == nil {
				pairs[pair] = &sharing{meeting: m}
				out = append(out, pairs[pair])
			}
			pairs[pair].first, pairs[pair].second = append(pairs[pair].first, before), append(pairs[pair].second, d)
		}
		byID[id] = append(byID[id], d)
	}
	return out
}

// sharedAlike gathers what several apps share with one in the same way, such as a source that each of them brings along.
func (j *checker) sharedAlike() [][]*sharing {
	var out [][]*sharing
	at := map[string]int{}
	for _, s := range j.shared() {
		key := fmt.Sprintf("%p %v %s", s.first[0].unit, s.differs(), s.severity())
		for _, d := range s.second {
			key += "\n" + identity(d).String()
		}
		if i, known := at[key]; known {
			out[i] = append(out[i], s)
			continue
		}
		at[key] = len(out)
		out = append(out, []*sharing{s})
	}
	return out
}

// firstOf is the first of those of one name that another app describes and that d meets; no meeting if there is none.
func (j *checker) firstOf(all []described, d described) (described, meeting) {
	for _, before := range all {
		if before.unit == d.unit || before.unit.App.Key == d.unit.App.Key || leavesDefinition(before, d) {
			continue
		}
		if m := j.reach().meet(before.unit, d.unit); m != "" {
			return before, m
		}
	}
	return described{}, ""
}

// leavesDefinition reports whether one of two apps leaves the object to the other: a HelmRelease leaves a definition of its chart's directory crds to the
// app that describes it itself, and to another release, unless both replace it and differ. It deletes none.
func leavesDefinition(a, b described) bool {
	if !isDefinition(a) && !isDefinition(b) {
		return false
	}
	return !replacesDefinition(a) || !replacesDefinition(b) || isSameObject(a, b)
}

// isDefinition reports whether an object is of the directory crds of a HelmRelease's chart.
func isDefinition(d described) bool { return d.object.Definition && d.unit.App.Release != nil }

// replacesDefinition reports whether it is one that the release keeps as its chart has it, in installs or upgrades.
func replacesDefinition(d described) bool {
	return isDefinition(d) && slices.Contains([]release.CRDs{d.unit.App.Release.Template.CRDs, d.unit.App.Release.Template.UpgradeCRDs}, release.ReplaceCRDs)
}

// identity is what a cluster calls the object: of a kind of Kubernetes' own that has no namespace here, none is meant.
func identity(d described) object.ID {
	if desired.IsBuiltInGroup(d.object.ID.Group) {
		return d.object.ID
	}
	return d.id()
}

// sharedFinding is about what several apps share with one in the same way; mostly it is one other.
func (j *checker) sharedFinding(alike []*sharing) Finding {
	s := alike[0]
	a, b, at := s.first[0].unit, s.second[0].unit, max(s.unlike(), 0)
	f := Finding{Unit: b.Name(), Object: identity(s.second[at]), Place: j.whole(s.second[at]), Severity: s.severity()}
	names := []string{f.Object.String()}
	for i, d := range s.second {
		if i != at {
			names = append(names, identity(d).String())
		}
	}
	var units []string
	places := []desired.Place{j.whole(s.first[at])}
	for _, other := range alike {
		units = append(units, other.second[0].unit.Name())
		places = append(places, j.whole(other.second[at]))
		f.between(other.second[0].unit.Name(), identity(other.second[at]))
	}
	f.between(a.Name(), identity(s.first[at]))
	for _, p := range places {
		if p != f.Place && !slices.Contains(f.Others, p) {
			f.Others = append(f.Others, p)
		}
	}
	f.Message = fmt.Sprintf("%s and %s both describe %s: %s%s", b.Name(), a.Name(), firstWords(names), s.outcome(), s.meeting.unless(a, b))
	if len(alike) > 1 {
		f.Message = fmt.Sprintf("%d apps (%s) describe %s, as %s does: %s%s", len(alike), firstWords(units), firstWords(names), a.Name(), s.outcome(), s.meeting.unless(a, b))
	}
	f.Remedy = "leave " + firstWords(names) + " to one of them"
	return f
}

// unlike is the position of the first object that the two do not describe alike, -1 for none.
func (s *sharing) unlike() int {
	if s.compared == nil {
		at := -1
		for i, d := range s.second {
			if !isSameObject(s.first[i], d) {
				at = i
				break
			}
		}
		s.compared = &at
	}
	return *s.compared
}

func (s *sharing) differs() bool { return s.unlike() >= 0 }

func (s *sharing) outcome() string {
	a, b := s.first[0].unit.App, s.second[0].unit.App
	switch {
	case a.Suspended || b.Suspended:
		return "one of them is suspended; when it is not any more, both apply it"
	case s.differs():
		return "they differ, and each undoes the other"
	case a.Prunes() || b.Prunes():
		return "they are alike; as soon as it leaves one of them, that one deletes it from under the other"
	}
	return "they are alike; as soon as one changes, each undoes the other"
}

func (s *sharing) severity() Severity {
	a, b := s.first[0].unit.App, s.second[0].unit.App
	switch {
	case a.Suspended || b.Suspended:
		return Info
	case !s.differs() || s.meeting == perhaps:
		return Warning
	}
	return Error
}

// isSameObject reports whether two apps say the same of an object, but for the marks that each puts on it.
func isSameObject(a, b described) bool {
	x, y := withoutAddedLabels(a), withoutAddedLabels(b)
	return field.EqualValues(map[string]any(x), map[string]any(y))
}

// withoutAddedLabels is the object without the labels that its app puts on everything; of a chart's definition, without all that names the release.
func withoutAddedLabels(d described) object.Object {
	o := d.data().Clone()
	meta := o.Metadata()
	withoutKeys(meta, "labels", d.unit.App.Labels)
	if isDefinition(d) {
		withoutKeys(meta, "labels", d.unit.App.Overlay.Metadata.Labels)
		withoutKeys(meta, "annotations", d.unit.App.Overlay.Metadata.Annotations)
	}
	return o
}

// withoutKeys takes keys out of the labels or annotations, and these out of the metadata where they had no others.
func withoutKeys(meta map[string]any, field string, keys map[string]string) {
	had, ok := meta[field].(map[string]any)
	if !ok {
		return
	}
	for key := range keys {
		delete(had, key)
	}
	if len(had) == 0 {
		delete(meta, field)
	}
}
