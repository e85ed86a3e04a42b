package flux

import (
	"net/url"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// Buckets translates Bucket. Its zero value is ready.
type Buckets struct{}

var _ dialect.Sources = Buckets{}

// Source reads a Bucket.
func (Buckets) Source(cr object.Object) dialect.Source {
	r := &reading{}
	s, _ := r.bucketSource(cr)
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

func (r *reading) bucketSource(cr object.Object) (dialect.Source, sourcev1.BucketSpec) {
	r.Kind(cr, sourceAPI, bucket)
	var spec sourcev1.BucketSpec
	fields := r.spec(cr, &spec, unsupportedInBucket)
	s := newSource(bucket, cr)
	s.Suspended = spec.Suspend
	r.required(fields, "interval", "the time between two looks for new objects, such as 5m")
	s.Interval = r.period("spec.interval", spec.Interval.Duration)
	if spec.Timeout != nil {
		s.Timeout = r.timeout(spec.Timeout.Duration)
	}
	if spec.SecretRef != nil {
		s.Secret = r.secretName("spec.secretRef.name", spec.SecretRef.Name)
	}
	s.OtherSecrets = r.secretNames(s.OtherSecrets, "spec.certSecretRef.name", spec.CertSecretRef)
	s.OtherSecrets = r.secretNames(s.OtherSecrets, "spec.proxySecretRef.name", spec.ProxySecretRef)
	r.required(fields, "bucketName", "the name of the bucket")
	r.endpoint(fields, spec.Endpoint)
	r.bucketProvider(spec)
	if spec.STS != nil {
		s.OtherSecrets = r.secretNames(s.OtherSecrets, "spec.sts.secretRef.name", spec.STS.SecretRef)
		s.OtherSecrets = r.secretNames(s.OtherSecrets, "spec.sts.certSecretRef.name", spec.STS.CertSecretRef)
		r.tokenService(spec)
	}
	if spec.Insecure {
		r.Note("spec.insecure is true, so that the bucket is read without TLS, and its objects may come from anyone on the way")
	}
	return s, spec
}

// secretNames adds the name of a reference, if there is one.
func (r *reading) secretNames(list []string, field string, ref *meta.LocalObjectReference) []string {
	if ref == nil {
		return list
	}
	return append(list, r.secretName(field, ref.Name))
}

func (r *reading) endpoint(fields map[string]any, text string) {
	const at = "spec.endpoint"
	r.required(fields, "endpoint", "where the object storage is, such as minio.example.com:9000")
	u, err := url.Parse("https://" + text)
	switch {
	case fields == nil || fields["endpoint"] == nil || r.HasProblem(at):
	case strings.Contains(text, "@"):
		r.Problem(at, "holds credentials, which everybody who can read the Bucket can see; put them into spec.secretRef")
	case strings.Contains(text, "://"):
		r.Problem(at, "want HOST or HOST:PORT without a scheme: it is reached by HTTPS, and by HTTP where spec.insecure is true")
	case err != nil || u.Hostname() == "" || u.Host != text:
		r.Problem(at, "want HOST or HOST:PORT")
	}
}

func (r *reading) bucketProvider(spec sourcev1.BucketSpec) {
	const at = "spec.provider"
	switch spec.Provider {
	case "", sourcev1.BucketProviderGeneric:
	case sourcev1.BucketProviderAmazon:
		if spec.SecretRef == nil {
			r.Unsupported(at, "an identity at AWS needs the SDK of the cloud, which truce does not hold; name a Secret with accesskey and secretkey in spec.secretRef")
		}
	case sourcev1.BucketProviderGoogle, sourcev1.BucketProviderAzure:
		r.Unsupported(at, "only generic and aws, which speak the API of S3; for Google Cloud Storage, use generic with an HMAC key")
	default:
		r.Problem(at, "want generic or aws, not %q", spec.Provider)
	}
}

const stsField = "spec.sts.provider"

// tokenService checks spec.sts.
func (r *reading) tokenService(spec sourcev1.BucketSpec) {
	s := spec.STS
	u, err := url.Parse(s.Endpoint)
	switch {
	case s.Provider == sourcev1.STSProviderAmazon && spec.Provider == sourcev1.BucketProviderAmazon:
		r.Unsupported(stsField, "an identity at AWS needs the SDK of the cloud, which truce does not hold")
	case s.Provider != sourcev1.STSProviderLDAP || spec.Provider != "" && spec.Provider != sourcev1.BucketProviderGeneric:
		r.Problem(stsField, "want ldap with the provider generic, or aws with aws, not %q", s.Provider)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil:
		r.Problem("spec.sts.endpoint", "want an http:// or https:// URL without credentials")
	case u.Scheme == "http":
		r.Note("spec.sts.endpoint has no TLS, so that the password may be seen by anyone on the way")
	}
	if spec.SecretRef != nil {
		r.Note("spec.sts has no effect: the credentials of spec.secretRef are used, as in Flux")
	}
}

// Spec says what to fetch.
func (Buckets) Spec(cr object.Object, secrets source.Secrets) (source.Spec, error) {
	r := &reading{}
	s, spec := r.bucketSource(cr)
	if len(r.Problems) > 0 {
		return source.Spec{}, refusedSource(s.Key, source.NotSupported, sentences(r.Problems))
	}
	out := source.Spec{
		Kind: source.ObjectStorage, URL: "https://" + spec.Endpoint, Timeout: s.Timeout, Insecure: spec.Insecure,
		Bucket: source.Bucket{Name: spec.BucketName, Prefix: spec.Prefix, Region: spec.Region},
	}
	if spec.Insecure {
		out.URL = "http://" + spec.Endpoint
	}
	if spec.Ignore != nil {
		out.Ignore = *spec.Ignore
	}
	if lack := bucketAuth(&out, spec, secrets); lack != "" {
		return source.Spec{}, refusedSource(s.Key, source.AuthenticationFailed, lack)
	}
	return out, nil
}

// bucketAuth reads the Secrets of a Bucket. As in Flux, one without any is asked without a signature.
func bucketAuth(out *source.Spec, spec sourcev1.BucketSpec, secrets source.Secrets) (lack string) {
	if ref := spec.SecretRef; ref != nil {
		out.Auth.Username, out.Auth.Password = string(secrets.Main["accesskey"]), string(secrets.Main["secretkey"])
		switch {
		case secrets.Main == nil:
			return "Secret " + ref.Name + " is not there"
		case out.Auth.Username == "" || out.Auth.Password == "":
			return "Secret " + ref.Name + ": want accesskey and secretkey"
		}
	}
	if ref := spec.CertSecretRef; ref != nil {
		lack = otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return certificates(&out.Auth, data) })
	}
	if ref := spec.ProxySecretRef; ref != nil && lack == "" {
		lack = otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return proxyAddress(&out.Auth, data) })
	}
	if spec.STS == nil || spec.SecretRef != nil || lack != "" {
		return lack
	}
	out.Bucket.Tokens = spec.STS.Endpoint
	return tokenUser(&out.Bucket.User, *spec.STS, secrets)
}

// tokenUser reads the Secrets of spec.sts.
func tokenUser(user *source.Auth, sts sourcev1.BucketSTSSpec, secrets source.Secrets) (lack string) {
	if ref := sts.SecretRef; ref != nil {
		lack = otherSecret(secrets, ref.Name, func(data map[string][]byte) string {
			user.Username, user.Password = string(data["username"]), string(data["password"])
			if user.Username == "" || user.Password == "" {
				return "want username and password"
			}
			return ""
		})
	}
	if ref := sts.CertSecretRef; ref != nil && lack == "" {
		lack = otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return certificates(user, data) })
	}
	return lack
}

// Status returns the status of a Bucket after a fetch, or during one.
func (Buckets) Status(cr object.Object, s dialect.SourceState) map[string]any {
	var status sourcev1.BucketStatus
	reader.DecodeStatus(cr, &status)
	if s.Request != "" {
		status.LastHandledReconcileAt = s.Request
	}
	r := &reading{}
	_, spec := r.bucketSource(cr)
	status.Artifact = artifact(status.Artifact, s)
	status.Conditions = sourceConditions(r, s, lastFetch{
		conditions: status.Conditions, artifact: status.Artifact, observed: status.ObservedGeneration,
		stored: "stored artifact for revision", failed: sourcev1.BucketOperationFailedReason,
	})
	if s.Running {
		return statusMap(&status)
	}
	if s.Generation != 0 {
		status.ObservedGeneration = s.Generation
	}
	if s.Err == nil && len(r.Problems) == 0 {
		status.ObservedIgnore = spec.Ignore
	}
	return statusMap(&status)
}
