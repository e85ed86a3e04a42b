package flux

import (
	"cmp"
	"maps"
	"net/url"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
)

// HelmRepositories translates HelmRepository. Its zero value is ready.
type HelmRepositories struct{}

var _ dialect.Sources = HelmRepositories{}

// Source reads a HelmRepository.
func (HelmRepositories) Source(cr object.Object) dialect.Source {
	r := &reading{}
	s, _ := r.helmSource(cr)
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

func (r *reading) helmSource(cr object.Object) (dialect.Source, sourcev1.HelmRepositorySpec) {
	r.Kind(cr, sourceAPI, helmRepository)
	var spec sourcev1.HelmRepositorySpec
	fields := r.spec(cr, &spec, nil)
	s := newSource(helmRepository, cr)
	s.Suspended, s.Static = spec.Suspend, spec.Type == sourcev1.HelmRepositoryTypeOCI
	switch {
	case fields["interval"] != nil:
		s.Interval = r.period("spec.interval", spec.Interval.Duration)
	case s.Static:
		s.Interval = longest // the registry is asked about charts, as often as those say
	default:
		s.Interval = time.Minute
	}
	if spec.Timeout != nil {
		s.Timeout = r.timeout(spec.Timeout.Duration)
	}
	if spec.SecretRef != nil {
		s.Secret = r.secretName("spec.secretRef.name", spec.SecretRef.Name)
	}
	s.OtherSecrets = r.secretNames(s.OtherSecrets, "spec.certSecretRef.name", spec.CertSecretRef)
	r.helmURL(fields, spec)
	if spec.AccessFrom != nil {
		r.Note("spec.accessFrom has no effect, as in Flux: --no-cross-namespace-refs keeps other namespaces out")
	}
	return s, spec
}

func (r *reading) helmURL(fields map[string]any, spec sourcev1.HelmRepositorySpec) {
	const at = "spec.url"
	r.required(fields, "url", "where the repository is, such as https://charts.example.com or oci://registry.example.com/charts")
	scheme, rest, _ := strings.Cut(spec.URL, "://")
	u, err := url.Parse(spec.URL)
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case fields == nil || fields["url"] == nil || r.HasProblem(at):
	case strings.Contains(host, "@"):
		r.Problem(at, "holds credentials, which everybody who can read the HelmRepository can see; put them into spec.secretRef")
	case err != nil || u.Host == "" || u.Hostname() == "":
		r.Problem(at, "want https://HOST/PATH, http://HOST/PATH or oci://HOST/PATH")
	case spec.Type == sourcev1.HelmRepositoryTypeOCI && scheme != "oci":
		r.Problem(at, "want oci://HOST/PATH, since spec.type is oci")
	case spec.Type != sourcev1.HelmRepositoryTypeOCI && scheme != "http" && scheme != "https":
		r.Problem(at, "want https:// or http://, or spec.type: oci for a registry")
	case scheme == "http" && spec.SecretRef != nil:
		r.Note("spec.url begins with http://, so that the credentials of spec.secretRef travel unencrypted")
	}
	switch spec.Type {
	case "", sourcev1.HelmRepositoryTypeDefault:
		if spec.PassCredentials && spec.SecretRef != nil {
			r.Note("spec.passCredentials is true, so that the credentials are sent to every server that the index names")
		}
	case sourcev1.HelmRepositoryTypeOCI:
		if r.cloud(spec.Provider) != provider.NoCloud && spec.SecretRef == nil {
			r.ownIdentity(spec.Insecure, spec.CertSecretRef)
		}
		if spec.Insecure {
			r.Note("spec.insecure is true, so that the registry may be reached without TLS, and its answers may come from anyone on the way")
		}
	default:
		r.Problem("spec.type", "want default or oci, not %q", spec.Type)
	}
}

// Spec says what to fetch for the repository itself: its index, and nothing of a registry.
func (HelmRepositories) Spec(cr object.Object, secrets source.Secrets) (source.Spec, error) {
	r := &reading{}
	s, spec := r.helmSource(cr)
	if len(r.Problems) > 0 {
		reason := source.NotSupported
		if r.HasProblem("spec.url") {
			reason = source.URLInvalid
		}
		return source.Spec{}, refusedSource(s.Key, reason, sentences(r.Problems))
	}
	out := source.Spec{Kind: source.HelmRepository, URL: spec.URL, Timeout: s.Timeout}
	out.Chart.Elsewhere = spec.PassCredentials
	if s.Static {
		out = source.Spec{Kind: source.OCI, URL: spec.URL, Timeout: s.Timeout, Insecure: spec.Insecure}
	}
	if lack := helmAuth(&out, s, spec, secrets); lack != "" {
		return source.Spec{}, refusedSource(s.Key, source.AuthenticationFailed, lack)
	}
	if s.Static && s.Secret == "" {
		out.Auth.Cloud = cloudIdentity(r.cloud(spec.Provider), s.Key.Namespace, "")
	}
	return out, nil
}

// helmAuth reads the Secrets of a HelmRepository: a user and a password, for a registry a Docker configuration, too. Its certificates are older
// names of what spec.certSecretRef has, which wins.
func helmAuth(out *source.Spec, s dialect.Source, spec sourcev1.HelmRepositorySpec, secrets source.Secrets) (lack string) {
	if s.Secret != "" {
		data := secrets.Main
		_, docker := data[dockerConfig]
		switch {
		case data == nil:
			return "Secret " + s.Secret + " is not there"
		case out.Kind == source.OCI && docker:
			out.Auth, lack = pullCredentials([]map[string][]byte{data}, strings.TrimPrefix(spec.URL, sourcev1.OCIRepositoryPrefix))
		default:
			data = maps.Clone(data)
			delete(data, "bearerToken") // a repository has none
			out.Auth, lack = readAuth("https://", data)
		}
		if lack != "" {
			return "Secret " + s.Secret + ": " + lack
		}
	}
	ref := spec.CertSecretRef
	if ref == nil {
		return ""
	}
	return otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return certificates(&out.Auth, data) })
}

// Status returns the status of a HelmRepository after a fetch of its index, or during one. As in Flux, a registry has none, unless its spec is refused.
func (HelmRepositories) Status(cr object.Object, s dialect.SourceState) map[string]any {
	var status sourcev1.HelmRepositoryStatus
	reader.DecodeStatus(cr, &status)
	if s.Request != "" {
		status.LastHandledReconcileAt = s.Request
	}
	r := &reading{}
	read, _ := r.helmSource(cr)
	if read.Static && len(r.Problems) == 0 {
		return statusMap(&sourcev1.HelmRepositoryStatus{ReconcileRequestStatus: status.ReconcileRequestStatus})
	}
	status.Artifact = artifact(status.Artifact, s)
	status.Conditions = sourceConditions(r, s, lastFetch{
		conditions: status.Conditions, artifact: status.Artifact, observed: status.ObservedGeneration,
		stored: "stored artifact: revision", failed: string(source.RepositoryFailed),
	})
	if s.Running {
		return statusMap(&status)
	}
	status.ObservedGeneration = cmp.Or(s.Generation, status.ObservedGeneration)
	return statusMap(&status)
}

// helmReference checks the name and the version of a chart of a HelmRepository.
func (r *reading) helmReference(at, name, version string) {
	if name == "" || strings.Contains(name, "..") || strings.ContainsAny(name, " \t\r\n\x00?#@:\\") || strings.HasPrefix(name, "/") {
		r.Problem(at+".chart", "want the name of a chart of the repository, not %q", name)
	}
	if len(version) > longestVersion {
		r.Problem(at+".version", "want a version or a range of versions, not a text of %d bytes", len(version))
	}
}

const longestVersion = 256
