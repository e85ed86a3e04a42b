package argocd

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/source"
)

// source reads where the files come from, and what they are.
func (r *reading) source(a *app.App, spec applicationSpec) {
	if len(spec.Sources) > 1 {
		r.sources(a, spec)
		return
	}
	s, at := r.oneSource(spec)
	s = s.withoutEmpty()
	a.Source = sourceKey(a.Member, s)
	if s.Ref != "" {
		r.Unsupported(at+".ref", "it is the only source; want spec.sources with those that read it")
	}
	r.describe(a, sourceAt{applicationSource: s, at: at})
}

// describe reads what is rendered of a source.
func (r *reading) describe(a *app.App, s sourceAt) {
	a.Path = r.path(s.at, s.applicationSource)
	r.unsupported(s.at, s.applicationSource)
	r.layout(a, s.at, s.applicationSource)
	if s.dir != "" {
		a.Path = path.Join(s.dir, a.Path)
	}
	r.overlay(a, s.at, s.applicationSource)
	r.chart(a, s)
	if s.Chart == "" {
		a.InSource = inSource{s}
	}
}

// oneSource is spec.source, or the only one of spec.sources, which goes before it as in Argo CD. Of several it is the first.
func (r *reading) oneSource(spec applicationSpec) (applicationSource, string) {
	if isFieldSet(spec.SourceHydrator) {
		r.Unsupported("spec.sourceHydrator", "nothing is written to a repository; use source with the branch that holds the manifests")
	}
	switch {
	case len(spec.Sources) > 0:
		return spec.Sources[0], "spec.sources[0]"
	case spec.Source == nil && !r.HasProblem("spec.source") && !r.spoilt("spec.source") && !isFieldSet(spec.SourceHydrator):
		r.Problem("spec.source", "required: repoURL and path of the manifests")
	}
	if spec.Source == nil {
		return applicationSource{}, "spec.source"
	}
	return *spec.Source, "spec.source"
}

// spoilt reports whether something is wrong with the source that is said already, or with what stands instead of it.
func (r *reading) spoilt(at string) bool {
	return r.HasProblemWithin(at) || at == "spec.source" && (r.HasProblemWithin("spec.sources") || r.HasProblemWithin("spec.sourceHydrator"))
}

// sourceKey names an inline source of an Application. Its name is the address without the credentials that it may hold: it stands in messages. Two
// addresses that differ in their credentials alone have different keys all the same, and so have those of two projects, which may have different Secrets.
func sourceKey(of project.Member, s applicationSource) (key app.SourceKey) {
	key = app.SourceKey{Kind: repository, Namespace: of.Namespace, Name: s.RepoURL, Revision: s.TargetRevision}
	if key.Revision == "" {
		key.Revision = "HEAD"
	}
	if of.Project != project.Default {
		key.Project = of.Project
	}
	defer func() {
		if s.Chart != "" {
			key.Name += "#chart=" + s.Chart
		}
	}()
	u, err := url.Parse(s.RepoURL)
	if err == nil && u.User != nil && u.Scheme != "ssh" {
		sum := sha256.Sum256([]byte(u.User.String()))
		u.User = nil
		key.Name = u.String() + "#" + hex.EncodeToString(sum[:4])
	}
	if err != nil && !reader.IsSCPAddress(s.RepoURL) {
		key.Name = "(no address)"
	}
	return key
}

func (r *reading) path(at string, s applicationSource) string {
	if s.Chart != "" {
		return s.chartName()
	}
	switch {
	case s.Path == "" && s.Ref == "" && !r.spoilt(at):
		r.Problem(at+".path", "required: the directory of the manifests, . for the top of the repository")
	case strings.HasPrefix(s.Path, "/"):
		r.Problem(at+".path", "%q begins with a slash; want a path inside the repository", s.Path)
	case strings.ContainsRune(s.Path, 0):
		r.Problem(at+".path", "holds a zero byte")
	}
	dir := path.Clean(strings.TrimLeft(s.Path, "/"))
	if dir == ".." || strings.HasPrefix(dir, "../") {
		r.Problem(at+".path", "%q leads out of the repository", s.Path)
	}
	if r.HasProblem(at + ".path") {
		return "."
	}
	return dir
}

// unsupported refuses the kinds of sources that are not read, and their options.
func (r *reading) unsupported(at string, s applicationSource) {
	switch {
	case s.Chart != "":
		r.repositoryOfChart(at, s)
	case s.RepoURL == "":
		if !r.HasProblem(at) && !r.spoilt(at) {
			r.Problem(at+".repoURL", "required: where the repository is")
		}
	case strings.HasPrefix(s.RepoURL, "oci://"):
		r.Unsupported(at+".repoURL", "of OCI registries only charts are read: want chart, and repoURL without oci://")
	case r.Address(at+".repoURL", s.RepoURL):
		r.Note("%s.repoURL holds credentials, which everybody who can read the Application can see", at)
	}
	if s.TagPrefix != "" {
		r.Unsupported(at+".tagPrefix", "write the prefix into targetRevision, or name a tag")
	}
	if isFieldSet(s.Plugin) {
		r.Unsupported(at+".plugin", "commit what the plugin makes of it")
	}
}

// layout says which files are read: as in Argo CD, a kustomization where there is one, else a chart, else the directory's own manifests.
func (r *reading) layout(a *app.App, at string, s applicationSource) {
	a.Layout = app.FoundLayout
	d := s.Directory
	if s.kustomized() {
		a.Layout = app.KustomizedLayout
	}
	if s.isChart() || s.Chart != "" {
		a.Layout = app.ChartLayout
	}
	if s.Chart != "" && (s.kustomized() || d != nil) {
		r.Problem(at, "has chart and what is for other files; want helm alone")
	}
	if s.Chart != "" {
		return
	}
	if s.kustomized() && s.isChart() {
		r.Problem(at, "has both kustomize and helm; want one of them")
	}
	if d == nil {
		return
	}
	if s.kustomized() {
		r.Problem(at, "has both kustomize and directory; want one of them")
	}
	if s.isChart() {
		r.Problem(at, "has both helm and directory; want one of them")
	}
	if d.Jsonnet.isSet() {
		r.Unsupported(at+".directory.jsonnet", "commit what jsonnet makes of it")
	}
	if d.DisableExtensionFilter {
		r.Unsupported(at+".directory.disableExtensionFilter", "only .yaml, .yml and .json are manifests")
	}
	a.Layout = app.PlainLayout
	a.Manifests = app.Manifests{Recurse: d.Recurse, Include: d.Include, Exclude: d.Exclude}
}

// Source reads where an Application's files come from.
func (f Repositories) Source(cr object.Object) dialect.Source {
	r := &reading{}
	s := dialect.Source{UID: cr.UID(), Generation: cr.Generation(), Interval: interval, Timeout: source.DefaultTimeout}
	from, key := r.inline(cr, f.Key)
	s.Key, s.SecretSelector = key, repositorySecrets(from.RepoURL, cmp.Or(key.Project, project.Default))
	s.Settings = settingsFor(from.RepoURL)
	s.Problems = r.Problems
	return s
}

// ForKey returns what reads that source of an Application; another revision of one is the same source.
func (Repositories) ForKey(key app.SourceKey) dialect.Sources { return Repositories{Key: key} }

// inline reads a source alone, and its key: what else is wrong is no fault of it.
func (r *reading) inline(cr object.Object, key app.SourceKey) (applicationSource, app.SourceKey) {
	var spec applicationSpec
	r.Fields("spec", cr["spec"], &spec)
	s, at := r.oneSource(spec)
	member := memberOf(cr, spec)
	for i, other := range spec.Sources {
		if key != (app.SourceKey{}) && sourceKey(member, other).Name == key.Name {
			s, at = other, fmt.Sprintf("spec.sources[%d]", i)
			break
		}
	}
	r.unsupported(at, s)
	r.Problems = slices.DeleteFunc(r.Problems, func(p app.Problem) bool { return p.Field != "spec" && !strings.HasPrefix(p.Field, "spec.source") })
	return s, sourceKey(member, s)
}

// Spec says what to fetch. Its Ref follows the target revision; who asks for another one puts it in its place.
func (f Repositories) Spec(cr object.Object, secrets source.Secrets) (source.Spec, error) {
	r := &reading{}
	s, key := r.inline(cr, f.Key)
	if len(r.Problems) > 0 {
		return source.Spec{}, &source.Error{
			Op: "read", Subject: key.String(), Reason: source.URLInvalid,
			Err: errors.New(r.Problems[0].Field + ": " + r.Problems[0].Reason),
		}
	}
	out := chartSpecOf(s, key.Revision, secrets.Main)
	var lack string
	if out.Auth, lack = readAuth(s.RepoURL, secrets); lack != "" {
		return source.Spec{}, &source.Error{
			Op: "read", Subject: key.String(), Reason: source.AuthenticationFailed, Err: errors.New("the Secret of the repository: " + lack),
		}
	}
	return out, nil
}

// Status is nothing: the Applications that read it report the result of a fetch.
func (Repositories) Status(object.Object, dialect.SourceState) map[string]any { return nil }
