package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// readVersion returns the version of a kind of Flux that truce reads, where it is another one; false where it is this one, or truce reads none.
func readVersion(gvk object.GVK) (object.GVK, bool) {
	if !strings.HasSuffix(gvk.Group, ".toolkit.fluxcd.io") {
		return gvk, false
	}
	read := slices.Concat(slices.Collect(maps.Keys(registry.Sources())), slices.Collect(maps.Keys(registry.AppDialects())),
		[]object.GVK{registry.Providers, registry.Alerts, flux.Receivers{}.Kind()})
	for _, r := range read {
		if r.Group == gvk.Group && r.Kind == gvk.Kind {
			return r, r != gvk
		}
	}
	return gvk, false
}

// atReadVersion is an object in the version that truce reads.
func atReadVersion(o object.Object) object.Object {
	read, old := readVersion(o.GVK())
	if !old {
		return o
	}
	out := maps.Clone(o)
	out["apiVersion"] = read.APIVersion()
	return out
}

// outdated finds resources in versions that Flux has removed: one finding for a version.
func (j *checker) outdated() []Finding {
	v := outdatedVersions{at: map[object.GVK]int{}}
	for i := range j.discovery.Units {
		if u := &j.discovery.Units[i]; u.Resource != nil {
			v.add(*u, u.Resource, j.files.said(u, ""))
		}
	}
	for u, o := range j.objects() {
		v.add(u, o.Data, j.files.whole(o))
	}
	return v.found
}

// outdatedVersions gathers resources by their versions.
type outdatedVersions struct {
	found []Finding
	at    map[object.GVK]int // in found
}

func (v *outdatedVersions) add(u discover.Unit, o object.Object, at desired.Place) {
	gvk := o.GVK()
	read, old := readVersion(gvk)
	if !old {
		return
	}
	i, known := v.at[gvk]
	if !known {
		v.at[gvk] = len(v.found)
		v.found = append(v.found, Finding{
			Unit: u.Name(), Object: o.ID(), Place: at,
			Message: fmt.Sprintf("%s %s: Flux 2.8 and truce read %s of it; an API server whose definition serves both gives it to them as %s, and one that serves %s alone refuses it",
				gvk.Kind, gvk.APIVersion(), read.Version, read.Version, read.Version),
			Remedy: "flux migrate --path . writes the files in the new version",
		})
		return
	}
	f := &v.found[i]
	f.between(u.Name(), o.ID())
	same := func(p desired.Place) bool { return p.File == at.File && p.Line == at.Line }
	if !same(f.Place) && !slices.ContainsFunc(f.Others, same) {
		f.Others = append(f.Others, at)
	}
}
