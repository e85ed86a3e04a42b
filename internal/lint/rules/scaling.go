package rules

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// described is an object in the unit that describes it.
type described struct {
	unit   *discover.Unit
	object *desired.Object
}

// id names the object with the namespace that it gets where it names none.
func (d described) id() object.ID {
	id := d.object.ID
	id.Namespace = cmp.Or(id.Namespace, homeNamespace(d.unit))
	return id
}

// at prints where the object begins.
func (d described) at() string { return upstream.DisplayName(d.object.File, d.object.Line, 0) }

// homeNamespace is the namespace of objects that name none.
func homeNamespace(u *discover.Unit) string {
	return cmp.Or(u.App.Namespace, u.App.DefaultNamespace.Name, "default")
}

// variable reports whether a name holds a variable that only Flux's postBuild resolves: in two apps it is two names.
func variable(id object.ID) bool { return strings.Contains(id.Kind+id.Namespace+id.Name, "${") }

// data is the object with the namespace that it gets.
func (d described) data() object.Object {
	o := d.object.Data
	if o.Namespace() != "" {
		return o
	}
	o = maps.Clone(o)
	meta := maps.Clone(o.Metadata())
	meta["namespace"] = homeNamespace(d.unit)
	o["metadata"] = meta
	return o
}

// lookupKey is what an object is looked up by: a reference to it may name no group.
type lookupKey struct{ kind, namespace, name string }

func lookupName(id object.ID) lookupKey { return lookupKey{id.Kind, id.Namespace, id.Name} }

// scaler is an object that moves the count of another one.
type scaler struct {
	described
	claim.Claimant
	targets []target // that are described anywhere
}

// target is a described object that a scaler means, and whether the two meet.
type target struct {
	described
	meeting meeting
}

// scaled is a described object with an autoscaled count.
type scaled struct {
	described
	claim   claim.Claim
	by      described // zero where the object itself shows it
	meeting meeting
}

// scaling is who moves the count of what, in the order of the survey.
type scaling struct {
	scalers []*scaler
	scaled  []scaled
}

// scaling reads all claims on counts, once.
func (j *checker) scaling() *scaling {
	if j.scales == nil {
		j.scales = j.readScaling()
	}
	return j.scales
}

func (j *checker) readScaling() *scaling {
	out := &scaling{}
	by := map[*desired.Object][]*scaler{}
	for d := range j.described() {
		for _, c := range j.catalogue.Read(d.data()) {
			if !c.Counts() {
				continue
			}
			s := &scaler{described: d, Claimant: c}
			s.targets = j.meant(s)
			out.scalers = append(out.scalers, s)
			for _, t := range s.targets {
				by[t.object] = append(by[t.object], s)
			}
		}
	}
	scale := j.counts()
	for d := range j.described() {
		out.scaled = append(out.scaled, j.claims(d, by[d.object], scale)...)
	}
	return out
}

// meant finds what a scaler means: in its own unit, or else in those that it meets.
func (j *checker) meant(s *scaler) []target {
	var own, others []target
	for _, d := range j.byName()[lookupName(s.Target)] {
		m := j.reach().meet(s.unit, d.unit)
		switch {
		case len(j.catalogue.On(claim.Subject{Desired: d.data()}, []claim.Claimant{s.Claimant})) == 0 || m == "":
		case d.unit == s.unit:
			own = append(own, target{d, m})
		case variable(s.Target):
		default:
			others = append(others, target{d, m})
		}
	}
	if len(own) > 0 {
		return own
	}
	return others
}

// counts returns where the kinds that are defined in Git keep their counts.
func (j *checker) counts() func(object.GVK) field.Path {
	crds := map[object.ID]object.Object{}
	for d := range j.described() {
		if d.object.GVK.Group == "apiextensions.k8s.io" && d.object.GVK.Kind == "CustomResourceDefinition" {
			group, _ := d.object.Data.At("spec", "group").(string)
			kind, _ := d.object.Data.At("spec", "names", "kind").(string)
			crds[object.ID{Group: group, Kind: kind}] = d.object.Data
		}
	}
	return func(gvk object.GVK) field.Path {
		return claim.ScaleOf(crds[object.ID{Group: gvk.Group, Kind: gvk.Kind}], gvk.Version)
	}
}

// claims are the claims on the object's count.
func (j *checker) claims(d described, by []*scaler, scale func(object.GVK) field.Path) []scaled {
	var claimants []claim.Claimant
	for _, s := range by {
		claimants = append(claimants, s.Claimant)
	}
	var out []scaled
	for _, c := range j.catalogue.On(claim.Subject{Desired: d.data(), Scale: scale(d.object.GVK)}, claimants) {
		if !c.Counts() {
			continue
		}
		s := scaled{described: d, claim: c, meeting: together}
		for _, of := range by {
			if of.ID == c.By {
				s.by, s.meeting = of.described, j.reach().meet(of.unit, d.unit)
				break
			}
		}
		out = append(out, s)
	}
	return out
}

// who names the claimant with its place and bounds: HPA shop/web (hpa.yaml:1) moves .spec.replicas of Deployment.apps shop/web between 2 and 10.
func (s scaled) who() string {
	at := ""
	if s.by.object != nil {
		at = " (" + s.by.at() + ")"
	}
	return fmt.Sprintf("%s%s moves %s of %s %s", s.claim.Name(), at, field.PathString(s.claim.Path), s.id(), boundsText(s.claim.Min, s.claim.Max))
}

func boundsText(least, most int64) string {
	if most >= 1<<31-1 {
		return fmt.Sprintf("from %d up", least)
	}
	return fmt.Sprintf("between %d and %d", least, most)
}

// described yields what each unit describes.
func (j *checker) described() func(yield func(described) bool) {
	return func(yield func(described) bool) {
		for i := range j.discovery.Units {
			u := &j.discovery.Units[i]
			for k := range u.Objects {
				if !yield(described{u, &u.Objects[k]}) {
					return
				}
			}
		}
	}
}

// byName finds described objects by kind, namespace and name.
func (j *checker) byName() map[lookupKey][]described {
	if j.names == nil {
		j.names = map[lookupKey][]described{}
		for d := range j.described() {
			n := lookupName(d.id())
			j.names[n] = append(j.names[n], d)
		}
	}
	return j.names
}

// reach returns which units meet in one cluster.
func (j *checker) reach() *reach {
	if j.reaches == nil {
		j.reaches = newReach(j.discovery.Units)
	}
	return j.reaches
}
