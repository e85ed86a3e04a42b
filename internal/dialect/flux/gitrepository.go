package flux

import (
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
)

// Source reads a GitRepository.
func (GitRepositories) Source(cr object.Object) dialect.Source {
	r := &reading{}
	s, _ := r.source(cr)
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

// newSource is what every kind of source has, whatever its spec says.
func newSource(kind string, cr object.Object) dialect.Source {
	s := dialect.Source{
		Key: app.SourceKey{Kind: kind, Namespace: cr.Namespace(), Name: cr.Name()}, UID: cr.UID(), Generation: cr.Generation(),
		Timeout: source.DefaultTimeout, Deleting: cr.At("metadata", "deletionTimestamp") != nil, Finalizer: sourcev1.SourceFinalizer,
	}
	s.Request, _ = cr.Annotation(requestedAt)
	return s
}

func (r *reading) source(cr object.Object) (dialect.Source, sourcev1.GitRepositorySpec) {
	r.Kind(cr, sourceAPI, gitRepository)
	var spec sourcev1.GitRepositorySpec
	fields := r.spec(cr, &spec, nil)
	s := newSource(gitRepository, cr)
	s.Suspended = spec.Suspend
	r.required(fields, "interval", "the time between two looks for new commits, such as 1m")
	s.Interval = r.period("spec.interval", spec.Interval.Duration)
	if spec.Timeout != nil {
		s.Timeout = r.timeout(spec.Timeout.Duration)
	}
	if spec.SecretRef != nil {
		s.Secret = spec.SecretRef.Name
		r.secretRef(s.Secret, spec.URL)
	}
	r.required(fields, "url", "where the repository is")
	r.url(spec.URL)
	sparseDirectories(r, spec.SparseCheckout)
	if spec.ProxySecretRef != nil {
		s.OtherSecrets = append(s.OtherSecrets, r.secretName("spec.proxySecretRef.name", spec.ProxySecretRef.Name))
	}
	s.Includes = r.includes(spec.Include)
	if keys := r.verification(spec); keys != "" {
		s.OtherSecrets = append(s.OtherSecrets, keys)
	}
	r.gitProvider(s, spec)
	return s, spec
}

func (r *reading) gitProvider(s dialect.Source, spec sourcev1.GitRepositorySpec) {
	const at = "spec.provider"
	inCloud := false
	switch spec.Provider {
	case "", sourcev1.GitProviderGeneric:
	case sourcev1.GitProviderGitHub:
		if s.Secret == "" || overSSH(spec.URL) {
			r.Problem(at, "is github, which wants a URL with https:// and the GitHub App's credentials in spec.secretRef")
		}
	case sourcev1.GitProviderAzure, sourcev1.GitProviderAWS:
		if inCloud = true; !strings.HasPrefix(spec.URL, "https://") {
			r.Problem(at, "is %s, which wants a URL with https://", spec.Provider)
		}
	default:
		r.Problem(at, "want generic, github, azure or aws, not %q", spec.Provider)
	}
	if spec.ServiceAccountName != "" && !inCloud {
		r.Problem("spec.serviceAccountName", "is for the providers azure and aws alone")
	}
}

// timeout reads spec.timeout: a fetch that may take no time at all never ends well.
func (r *reading) timeout(d time.Duration) time.Duration {
	if d = r.span("spec.timeout", d); d == 0 {
		return source.DefaultTimeout
	}
	return d
}

func (r *reading) secretRef(name, address string) {
	if name == "" {
		r.Problem("spec.secretRef.name", "required")
	}
	if strings.HasPrefix(address, "http://") {
		r.Note("spec.url begins with http://, so that the credentials of spec.secretRef travel unencrypted")
	}
}

// url refuses what no fetch can make sense of.
func (r *reading) url(text string) {
	const at = "spec.url"
	if text == "" {
		r.Problem(at, "required: where the repository is")
		return
	}
	if r.Address(at, text) {
		r.Note("spec.url holds credentials, which everybody who can read the GitRepository can see; put them into spec.secretRef")
	}
}

const sparseField = "spec.sparseCheckout"

// sparseDirectories returns the directories as source.Spec takes them. A "./" before one is dropped, as in Flux; the top means everything.
func sparseDirectories(r *reading, dirs []string) string {
	var out []string
	for i, text := range dirs {
		dir := path.Clean(strings.TrimSuffix(text, "/"))
		switch {
		case text == "", strings.HasPrefix(text, "/"), !fs.ValidPath(dir), strings.ContainsFunc(text, unicode.IsControl):
			r.Problem(sparseField, "entry %d is %q; want a directory of the repository, such as apps/web", i, text)
		case dir == ".":
			return ""
		}
		out = append(out, dir)
	}
	return strings.Join(out, "\n")
}

// Spec says what to fetch.
func (GitRepositories) Spec(cr object.Object, secrets source.Secrets) (source.Spec, error) {
	r := &reading{}
	s, spec := r.source(cr)
	if len(r.Problems) > 0 {
		reason := source.NotSupported
		if r.HasProblem("spec.url") {
			reason = source.URLInvalid
		}
		return source.Spec{}, refusedSource(s.Key, reason, sentences(r.Problems))
	}
	out := source.Spec{URL: spec.URL, Timeout: s.Timeout, Sparse: sparseDirectories(r, spec.SparseCheckout), Submodules: spec.RecurseSubmodules}
	if ref := spec.Reference; ref != nil {
		out.Ref = source.Ref{Branch: ref.Branch, Tag: ref.Tag, SemVer: ref.SemVer, Strict: ref.SemVer != "", Name: ref.Name, Commit: ref.Commit}
	}
	if spec.Ignore != nil {
		out.Ignore = *spec.Ignore
	}
	var err error
	if out.Verify, err = verificationOf(s, spec.Verification, secrets); err != nil {
		return out, err
	}
	if out.Auth, err = gitCredentials(s, spec, secrets); err != nil {
		out.Auth = source.Auth{}
		return out, err
	}
	return out, nil
}

// gitCredentials reads those of the server, and those of the proxy.
func gitCredentials(s dialect.Source, spec sourcev1.GitRepositorySpec, secrets source.Secrets) (out source.Auth, err error) {
	lack := ""
	switch {
	case s.Secret == "":
	case secrets.Main == nil:
		lack = "Secret " + s.Secret + " is not there"
	default:
		read := readAuth
		if spec.Provider == sourcev1.GitProviderGitHub {
			read = readApp
		}
		if out, lack = read(spec.URL, secrets.Main); lack != "" {
			lack = "Secret " + s.Secret + ": " + lack
		}
	}
	if ref := spec.ProxySecretRef; ref != nil && lack == "" {
		lack = otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return gitProxy(&out, spec.URL, data) })
	}
	if lack == "" && (spec.Provider == sourcev1.GitProviderAzure || spec.Provider == sourcev1.GitProviderAWS) {
		lack = gitIdentity(&out, s, spec)
	}
	if lack != "" {
		return source.Auth{}, refusedSource(s.Key, source.AuthenticationFailed, lack)
	}
	return out, nil
}

// gitProxy reads the keys of spec.proxySecretRef. As in Flux, SSH goes through a SOCKS5 proxy alone.
func gitProxy(a *source.Auth, address string, data map[string][]byte) (lack string) {
	lack = proxyAddress(a, data)
	if lack == "" && overSSH(address) && !strings.HasPrefix(a.Proxy, "socks5") {
		return "address is no proxy for SSH: want socks5://HOST:PORT"
	}
	return lack
}

// gitIdentity makes a repository one that is read as an identity of its cloud, whatever else a Secret holds.
func gitIdentity(out *source.Auth, s dialect.Source, spec sourcev1.GitRepositorySpec) (lack string) {
	if out.CABundle != "" && spec.ServiceAccountName == "" {
		return "Secret " + s.Secret + ": its CA is not for the identity of the controller, whose credentials another server could get; name a spec.serviceAccountName"
	}
	out.Cloud = cloudIdentity(provider.Cloud(spec.Provider), s.Key.Namespace, spec.ServiceAccountName)
	return ""
}
