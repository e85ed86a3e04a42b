package discover

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// chartReference is how an app, or one of its sources, names a chart of a repository of charts or of a registry.
type chartReference struct {
	repository, name, version string
	files                     []string // that replace the chart's own values
	why                       string   // it is not known where the chart is
}

// String is the chart as a person reads it.
func (r chartReference) String() string {
	if r.name == "" {
		return "its chart"
	}
	return "its chart " + r.name
}

// address is where the chart is fetched from, or why that is not known.
func (r chartReference) address() (upstream.Address, error) {
	if r.why != "" {
		return upstream.Address{}, errors.New(r.why)
	}
	repository, name := strings.TrimRight(r.repository, "/"), r.name
	if dir, base := path.Split(name); dir != "" {
		repository, name = repository+"/"+strings.Trim(dir, "/"), base
	}
	return upstream.ParseChart(repository, name, r.version)
}

// chartOf is the chart that an app is read from, or its source in a field of several; false where that is no chart of a repository of charts.
func (t *finder) chartOf(a app.App, cr object.Object, field string) (chartReference, bool) {
	switch {
	case !isFluxSource(a.Source.Kind):
		return chartOfApplication(cr, field)
	case a.Release == nil || !isArtifact(a.Source.Kind) || a.Source.Kind == bucket:
		return chartReference{}, false
	}
	return t.chartOfRelease(a.Source), true
}

// chartOfApplication is the chart of a source of an Application. As in Argo CD, the address of a registry may be without a scheme.
func chartOfApplication(cr object.Object, field string) (chartReference, bool) {
	from := object.Object{}
	if list, several := cr.At("spec", "sources").([]any); several {
		for i := range list {
			if one, is := list[i].(map[string]any); is && field == fmt.Sprintf("spec.sources[%d]", i) {
				from = one
			}
		}
	} else if one, is := cr.At("spec", "source").(map[string]any); is {
		from = one
	}
	r := chartReference{repository: from.StringAt("repoURL"), name: from.StringAt("chart"), version: from.StringAt("targetRevision")}
	if !strings.Contains(r.repository, "://") {
		r.repository = "oci://" + r.repository
	}
	return r, r.name != ""
}

// chartOfRelease is the chart of a source of a HelmRelease, as the custom resources of the repository describe that.
func (t *finder) chartOfRelease(k app.SourceKey) chartReference {
	var found []chartReference
	for _, d := range t.repositories[sourceName(k)] {
		one := t.describedChart(k, d.object)
		if !slices.ContainsFunc(found, func(r chartReference) bool { return reflect.DeepEqual(r, one) }) {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return chartReference{name: k.Chart, why: "no file describes " + sourceName(k).String()}
	case 1:
		return found[0]
	}
	return chartReference{name: k.Chart, why: sourceName(k).String() + " is described in several ways"}
}

func (t *finder) describedChart(k app.SourceKey, cr object.Object) chartReference {
	switch k.Kind {
	case helm:
		return chartReference{repository: cr.StringAt("spec", "url"), name: k.Chart, version: k.Version}
	case ociRepository:
		repository, name := path.Split(strings.TrimRight(cr.StringAt("spec", "url"), "/"))
		r := chartReference{repository: strings.TrimRight(repository, "/"), name: name}
		r.version, r.why = versionOf(cr)
		return r
	case helmChart:
		name := cr.StringAt("spec", "chart")
		if from := cr.StringAt("spec", "sourceRef", "kind"); from != helm {
			return chartReference{name: name, why: k.String() + " is read from a " + from}
		}
		r := t.chartOfRelease(app.SourceKey{
			Kind: helm, Namespace: cr.Namespace(), Name: cr.StringAt("spec", "sourceRef", "name"), Chart: name, Version: cr.StringAt("spec", "version"),
		})
		files, _ := cr.At("spec", "valuesFiles").([]any)
		for _, f := range files {
			one, _ := f.(string)
			r.files = append(r.files, one)
		}
		return r
	}
	return chartReference{name: k.Chart, why: "it is in " + k.String()}
}

// versionOf says which artifact an OCIRepository names, as upstream.ParseChart takes it, or why that is not known. As in Flux, a digest goes before a range,
// and that before a tag.
func versionOf(cr object.Object) (version, why string) {
	digest, versions, tag := cr.StringAt("spec", "ref", "digest"), cr.StringAt("spec", "ref", "semver"), cmp.Or(cr.StringAt("spec", "ref", "tag"), "latest")
	switch {
	case digest != "":
		return "@" + digest, ""
	case versions != "" && cr.StringAt("spec", "ref", "semverFilter") != "":
		return "", "its versions are filtered by semverFilter"
	case versions != "":
		return versions, ""
	case (upstream.Address{Chart: "chart", Ref: tag}).IsPinned():
		return tag, ""
	}
	return ":" + tag, ""
}

// chartElsewhere says why the chart is not looked into; the zero Skipped where it is fetched.
func (t *finder) chartElsewhere(c chartReference, left Skipped, from string) Skipped {
	_, err := c.address()
	if c.repository != "" {
		from = c.repository
	}
	switch {
	case !t.Charts:
		left.Why = fmt.Sprintf("%s is read from %s, and charts are not fetched unless --remote-bases is given", c, from)
		left.Reason = "its chart is not in this repository, and charts are not fetched unless --remote-bases is given"
	case err != nil:
		left.Why = fmt.Sprintf("%s is read from %s, and not fetched: %v", c, from, err)
		left.Reason = "its chart is not in this repository, and cannot be fetched"
	default:
		return Skipped{}
	}
	return left
}

// placeRelease has the chart of a HelmRelease read where the tree holds what is fetched.
func (t *finder) placeRelease(w *wanted) {
	c, elsewhere := t.chartOf(w.unit.App, w.unit.Resource, "")
	at, err := c.address()
	if w.unit.App.Release == nil || !elsewhere || err != nil {
		return
	}
	spec := *w.unit.App.Release
	files := slices.Concat(spec.Template.Files, c.files) // only one of both is there: a chart that is referred to has its own
	for i, f := range files {
		files[i] = path.Join(at.Name(), f)
	}
	spec.Template.Files = files
	w.unit.App.Path, w.unit.App.Release = at.Name(), &spec
}

// placeCharts has the charts of an Application that are fetched read where the tree holds them, and the files of its sources by their names in the
// repository. Other apps are as they were.
func (t *finder) placeCharts(a app.App, cr object.Object) app.App {
	top := func(field string) string {
		c, elsewhere := t.chartOf(a, cr, field)
		at, err := c.address()
		if !t.Charts || !elsewhere || err != nil {
			return ""
		}
		return at.Name()
	}
	if len(a.Parts) > 0 {
		return inOneTree(a, top)
	}
	if at := top(""); at != "" && a.Chart != nil {
		own := func(name string) string { return path.Join(at, strings.TrimPrefix(name, a.Path)) }
		a.Chart, a.Path = filesOf(*a.Chart, own), at
	}
	return a
}

// filesOf is a chart whose values files have other names.
func filesOf(c release.Request, own func(name string) string) *release.Request {
	c.Values = slices.Clone(c.Values)
	for k := range c.Values {
		if c.Values[k].File != "" {
			c.Values[k].File = own(c.Values[k].File)
		}
	}
	return &c
}
