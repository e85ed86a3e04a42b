package argocd

import (
	"path"
	"regexp"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
)

const ociScheme = "oci://"

// chartName is the last part of a chart's name: that of the directory in its archive. What is no name is the top of the source.
func (s applicationSource) chartName() string {
	if !chartForm.MatchString(s.Chart) {
		return "."
	}
	return path.Base(s.Chart)
}

// isInRegistry reports whether a chart is in an OCI registry: as in Argo CD, its address may be without a scheme.
func (s applicationSource) isInRegistry() bool {
	return s.Chart != "" && (strings.HasPrefix(s.RepoURL, ociScheme) || !strings.Contains(s.RepoURL, "://"))
}

// repositoryOfChart reads where a chart is that is not in Git.
func (r *reading) repositoryOfChart(at string, s applicationSource) {
	switch {
	case s.RepoURL == "" && !r.HasProblem(at) && !r.spoilt(at):
		r.Problem(at+".repoURL", "required: where the repository is")
	case s.isInRegistry() && !registryForm.MatchString(strings.TrimPrefix(s.RepoURL, ociScheme)):
		r.Problem(at+".repoURL", "want https:// and the address of a Helm repository, or the host and path of a registry")
	case s.isInRegistry():
	case !strings.HasPrefix(s.RepoURL, "http://") && !strings.HasPrefix(s.RepoURL, "https://"):
		r.Problem(at+".repoURL", "want https:// and the address of a Helm repository, or the host and path of a registry")
	case r.Address(at+".repoURL", s.RepoURL):
		r.Problem(at+".repoURL", "holds credentials, which everybody who can read the Application can see: put them into a Secret of the repository")
	}
	if s.chartName() == "." {
		r.Problem(at+".chart", "%q is no name of a chart", s.Chart)
	}
	if s.TargetRevision == "" {
		r.Problem(at+".targetRevision", "required: the version of the chart, or a range of versions")
	}
	if s.Path != "" {
		r.Note("%s.path has no effect beside chart", at)
	}
}

var (
	registryForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?(/[A-Za-z0-9._-]+)*/?$`)
	chartForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
)

// ChartOf is an Application of which the source is a chart, and which says nothing else: Repositories read it like any other. It is in the namespace of home,
// and of the AppProject that is the name of that.
func ChartOf(home object.ID, repository, chart, version string) object.Object {
	from := map[string]any{"repoURL": repository, "chart": chart, "targetRevision": version}
	return object.Object{"metadata": map[string]any{"namespace": home.Namespace}, "spec": map[string]any{"project": home.Name, "source": from}}
}

// chartSpecOf says what to fetch for a source at its revision.
func chartSpecOf(s applicationSource, revision string, secret map[string][]byte) source.Spec {
	out := source.Spec{URL: s.RepoURL, Timeout: source.DefaultTimeout}
	switch {
	case s.isInRegistry():
		out.Kind, out.MediaType, out.Whole, out.PlusTags = source.OCI, chartfile.LayerType, true, true
		out.URL = ociScheme + strings.TrimSuffix(strings.TrimPrefix(s.RepoURL, ociScheme), "/") + "/" + s.Chart
		out.Insecure = string(secret["insecureOCIForceHttp"]) == "true"
	case s.Chart != "":
		out.Kind, out.Chart = source.HelmRepository, source.Chart{Name: s.Chart, Elsewhere: s.Helm != nil && s.Helm.PassCredentials}
	}
	return out.At(revision)
}
