package flux

import (
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/charts"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
)

// OCIRepositories translates OCIRepository. Its zero value is ready.
type OCIRepositories struct{}

var _ dialect.Sources = OCIRepositories{}

// Source reads an OCIRepository.
func (OCIRepositories) Source(cr object.Object) dialect.Source {
	r := &reading{}
	s, _ := r.ociSource(cr)
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

func (r *reading) ociSource(cr object.Object) (dialect.Source, sourcev1.OCIRepositorySpec) {
	r.Kind(cr, sourceAPI, ociRepository)
	var spec sourcev1.OCIRepositorySpec
	fields := r.spec(cr, &spec, nil)
	s := newSource(ociRepository, cr)
	s.Suspended, s.ServiceAccount = spec.Suspend, spec.ServiceAccountName
	r.required(fields, "interval", "the time between two looks for new artifacts, such as 1m")
	s.Interval = r.period("spec.interval", spec.Interval.Duration)
	if spec.Timeout != nil {
		s.Timeout = r.timeout(spec.Timeout.Duration)
	}
	if spec.SecretRef != nil {
		s.Secret = r.secretName("spec.secretRef.name", spec.SecretRef.Name)
	}
	if spec.CertSecretRef != nil {
		s.OtherSecrets = append(s.OtherSecrets, r.secretName("spec.certSecretRef.name", spec.CertSecretRef.Name))
	}
	if spec.ProxySecretRef != nil {
		s.OtherSecrets = append(s.OtherSecrets, r.secretName("spec.proxySecretRef.name", spec.ProxySecretRef.Name))
	}
	s.OtherSecrets = append(s.OtherSecrets, r.signatures("spec.verify", spec.Verify).Secrets()...)
	r.ociURL(fields, spec.URL)
	r.layerSelector(spec.LayerSelector)
	if r.cloud(spec.Provider) != provider.NoCloud && spec.SecretRef == nil && spec.ServiceAccountName == "" {
		r.ownIdentity(spec.Insecure, spec.CertSecretRef)
	}
	if spec.Insecure {
		r.Note("spec.insecure is true, so that the registry may be reached without TLS, and its answers may come from anyone on the way")
	}
	return s, spec
}

func (r *reading) secretName(field, name string) string {
	if name == "" {
		r.Problem(field, "required")
	}
	return name
}

func (r *reading) ociURL(fields map[string]any, text string) {
	const at = "spec.url"
	r.required(fields, "url", "where the repository is, such as oci://registry.example.com/team/app")
	host, path, _ := strings.Cut(strings.TrimPrefix(text, sourcev1.OCIRepositoryPrefix), "/")
	switch {
	case fields == nil || fields["url"] == nil || r.HasProblem(at):
	case !strings.HasPrefix(text, sourcev1.OCIRepositoryPrefix):
		r.Problem(at, "want oci://HOST/REPOSITORY")
	case strings.Contains(host, "@"):
		r.Problem(at, "holds credentials, which everybody who can read the OCIRepository can see; put them into spec.secretRef")
	case strings.ContainsAny(path, ":@"):
		r.Problem(at, "names a tag or a digest; put it into spec.ref")
	case host == "" || path == "":
		r.Problem(at, "want oci://HOST/REPOSITORY")
	}
}

func (r *reading) layerSelector(s *sourcev1.OCILayerSelector) {
	if s != nil && s.Operation != "" && s.Operation != sourcev1.OCILayerExtract && s.Operation != sourcev1.OCILayerCopy {
		r.Problem("spec.layerSelector.operation", "want extract or copy, not %q", s.Operation)
	}
}

// Spec says what to fetch.
func (OCIRepositories) Spec(cr object.Object, secrets source.Secrets) (source.Spec, error) {
	r := &reading{}
	s, spec := r.ociSource(cr)
	if len(r.Problems) > 0 {
		reason := source.NotSupported
		if r.HasProblem("spec.url") {
			reason = source.URLInvalid
		}
		return source.Spec{}, refusedSource(s.Key, reason, sentences(r.Problems))
	}
	out := source.Spec{Kind: source.OCI, URL: spec.URL, Timeout: s.Timeout, Insecure: spec.Insecure}
	if ref := spec.Reference; ref != nil {
		out.Ref = source.Ref{Name: ref.Digest, SemVer: ref.SemVer, Filter: ref.SemverFilter, Tag: ref.Tag}
	}
	if spec.Ignore != nil {
		out.Ignore = *spec.Ignore
	}
	if l := spec.LayerSelector; l != nil {
		out.MediaType, out.Whole = l.MediaType, l.Operation == sourcev1.OCILayerCopy
		out.PlusTags = l.MediaType == chartfile.LayerType
	}
	var err error
	if out.Auth, err = ociAuth(s, spec, secrets); err == nil {
		if s.Secret == "" && len(secrets.Pull) == 0 { // as in Flux, which asks the cloud where no Secret is named
			out.Auth.Cloud = cloudIdentity(r.cloud(spec.Provider), s.Key.Namespace, spec.ServiceAccountName)
		}
		out.Verify, err = charts.VerificationOf(s.Key, r.signatures("spec.verify", spec.Verify), secrets)
	}
	return out, err
}

// ociAuth reads the Secrets of an OCIRepository. As in Flux, a registry that none of the pull secrets names is asked without credentials.
func ociAuth(s dialect.Source, spec sourcev1.OCIRepositorySpec, secrets source.Secrets) (source.Auth, error) {
	var pull []map[string][]byte
	if s.Secret != "" {
		if secrets.Main == nil {
			return source.Auth{}, refusedSource(s.Key, source.AuthenticationFailed, "Secret "+s.Secret+" is not there")
		}
		pull = append(pull, secrets.Main)
	}
	out, lack := pullCredentials(append(pull, secrets.Pull...), strings.TrimPrefix(spec.URL, sourcev1.OCIRepositoryPrefix))
	if lack != "" {
		return source.Auth{}, refusedSource(s.Key, source.AuthenticationFailed, lack)
	}
	if ref := spec.CertSecretRef; ref != nil {
		lack := otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return certificates(&out, data) })
		if lack != "" {
			return source.Auth{}, refusedSource(s.Key, source.AuthenticationFailed, lack)
		}
	}
	if ref := spec.ProxySecretRef; ref != nil {
		lack := otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return proxyAddress(&out, data) })
		if lack != "" {
			return source.Auth{}, refusedSource(s.Key, source.AuthenticationFailed, lack)
		}
	}
	return out, nil
}

// otherSecret reads a Secret that must be there, and says what is missing in which.
func otherSecret(secrets source.Secrets, name string, read func(map[string][]byte) string) string {
	data, ok := secrets.Other[name]
	if !ok {
		return "Secret " + name + " is not there"
	}
	if lack := read(data); lack != "" {
		return "Secret " + name + ": " + lack
	}
	return ""
}
