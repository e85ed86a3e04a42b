package flux

import (
	"net/url"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/provider"
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
	fields := r.spec(cr, &spec, nil)
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
	r.endpoint(fields, spec)
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

func (r *reading) endpoint(fields map[string]any, spec sourcev1.BucketSpec) {
	const at = "spec.endpoint"
	r.required(fields, "endpoint", "where the object storage is, such as minio.example.com:9000")
	text := spec.Endpoint
	u, err := url.Parse(bucketURL(spec))
	switch {
	case fields == nil || fields["endpoint"] == nil || r.HasProblem(at):
	case strings.Contains(text, "@"):
		r.Problem(at, "holds credentials, which everybody who can read the Bucket can see; put them into spec.secretRef")
	case spec.Provider == sourcev1.BucketProviderGoogle:
		if !strings.HasSuffix(text, "googleapis.com") {
			r.Note("spec.endpoint has no effect: the storage of Google Cloud is at storage.googleapis.com, as in Flux")
		}
	case spec.Provider == sourcev1.BucketProviderAzure:
		if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
			r.Problem(at, "want https://ACCOUNT.blob.core.windows.net")
		}
	case strings.Contains(text, "://"):
		r.Problem(at, "want HOST or HOST:PORT without a scheme: it is reached by HTTPS, and by HTTP where spec.insecure is true")
	case err != nil || u.Hostname() == "" || u.Host != text:
		r.Problem(at, "want HOST or HOST:PORT")
	}
}

// bucketURL is the endpoint with its scheme, which that of a storage of Azure has itself.
func bucketURL(spec sourcev1.BucketSpec) string {
	switch {
	case spec.Provider == sourcev1.BucketProviderAzure && strings.Contains(spec.Endpoint, "://"):
		return spec.Endpoint
	case spec.Insecure:
		return "http://" + spec.Endpoint
	}
	return "https://" + spec.Endpoint
}

func (r *reading) bucketProvider(spec sourcev1.BucketSpec) {
	const at, account = "spec.provider", "spec.serviceAccountName"
	switch spec.Provider {
	case "", sourcev1.BucketProviderGeneric:
		if spec.ServiceAccountName != "" {
			r.Problem(account, "is for the providers aws, azure and gcp alone")
		}
	case sourcev1.BucketProviderAmazon:
	case sourcev1.BucketProviderGoogle, sourcev1.BucketProviderAzure:
		if spec.STS != nil {
			r.Problem(stsField, "is for the providers generic and aws alone")
		}
		if spec.CertSecretRef != nil {
			r.Note("spec.certSecretRef has no effect: the certificates of a cloud are not chosen, as in Flux")
		}
	default:
		r.Problem(at, "want generic, aws, azure or gcp, not %q", spec.Provider)
	}
	if spec.SecretRef != nil && spec.ServiceAccountName != "" {
		r.Problem(account, "stands beside spec.secretRef; want one of them")
	}
}

const stsField = "spec.sts.provider"

// tokenService checks spec.sts.
func (r *reading) tokenService(spec sourcev1.BucketSpec) {
	s := spec.STS
	u, err := url.Parse(s.Endpoint)
	switch {
	case s.Provider == sourcev1.STSProviderAmazon && spec.Provider == sourcev1.BucketProviderAmazon:
		if !provider.IsTokenService(s.Endpoint) {
			r.Problem("spec.sts.endpoint", "want https://sts.REGION.amazonaws.com, or that of a private link")
		}
		if s.SecretRef != nil || s.CertSecretRef != nil {
			r.Problem("spec.sts", "takes no secretRef and no certSecretRef with the provider aws")
		}
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
		Kind: source.ObjectStorage, URL: bucketURL(spec), Timeout: s.Timeout, Insecure: spec.Insecure,
		Bucket: source.Bucket{Name: spec.BucketName, Prefix: spec.Prefix, Region: spec.Region},
	}
	if spec.Ignore != nil {
		out.Ignore = *spec.Ignore
	}
	if lack := bucketAuth(&out, s.Key.Namespace, spec, secrets); lack != "" {
		return source.Spec{}, refusedSource(s.Key, source.AuthenticationFailed, lack)
	}
	return out, nil
}

// bucketAuth reads the Secrets of a Bucket. As in Flux, a generic one without any is asked without a signature.
func bucketAuth(out *source.Spec, namespace string, spec sourcev1.BucketSpec, secrets source.Secrets) (lack string) {
	cloud := provider.NoCloud
	switch spec.Provider {
	case sourcev1.BucketProviderGoogle:
		cloud, out.Bucket.API = provider.GCP, provider.GoogleAPI
	case sourcev1.BucketProviderAzure:
		cloud, out.Bucket.API = provider.Azure, provider.BlobAPI
	case sourcev1.BucketProviderAmazon:
		cloud = provider.AWS
	}
	if spec.SecretRef != nil {
		lack = bucketLogin(out, namespace, spec.SecretRef.Name, secrets.Main)
	}
	if spec.SecretRef == nil || out.Bucket.API == provider.BlobAPI && out.Bucket.Login == provider.NoLogin {
		out.Auth.Cloud = cloudIdentity(cloud, namespace, spec.ServiceAccountName)
	}
	if ref := spec.CertSecretRef; ref != nil && out.Bucket.API == provider.S3API && lack == "" {
		lack = otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return certificates(&out.Auth, data) })
	}
	if ref := spec.ProxySecretRef; ref != nil && lack == "" {
		lack = otherSecret(secrets, ref.Name, func(data map[string][]byte) string { return proxyAddress(&out.Auth, data) })
	}
	switch {
	case spec.STS == nil || spec.SecretRef != nil || lack != "":
		return lack
	case cloud == provider.AWS:
		out.Auth.Cloud.TokenService = spec.STS.Endpoint
		return ""
	}
	out.Bucket.Tokens = spec.STS.Endpoint
	return tokenUser(&out.Bucket.User, *spec.STS, secrets)
}

// bucketLogin reads the Secret of a Bucket.
func bucketLogin(out *source.Spec, namespace, name string, data map[string][]byte) (lack string) {
	switch {
	case data == nil:
		return "Secret " + name + " is not there"
	case out.Bucket.API == provider.BlobAPI:
		lack = blobLogin(out, namespace, data)
	case out.Bucket.API == provider.GoogleAPI:
		if out.Bucket.Login, out.Auth.Password = provider.GoogleKey, string(data["serviceaccount"]); out.Auth.Password == "" {
			lack = "want serviceaccount"
		}
	default:
		if out.Auth.Username, out.Auth.Password = string(data["accesskey"]), string(data["secretkey"]); out.Auth.Username == "" || out.Auth.Password == "" {
			lack = "want accesskey and secretkey"
		}
	}
	if lack != "" {
		return "Secret " + name + ": " + lack
	}
	return ""
}

// blobLogin reads the Secret of a storage of Azure, in Flux's order.
func blobLogin(out *source.Spec, namespace string, data map[string][]byte) (lack string) {
	get := func(key string) string { return strings.TrimSpace(string(data[key])) }
	in, a := &out.Bucket, &out.Auth
	in.Tenant, in.Authority, in.Chain, a.Username = get("tenantId"), get("authorityHost"), get("clientCertificateSendChain"), get("clientId")
	byPrincipal := in.Tenant != "" && a.Username != ""
	switch {
	case byPrincipal && get("clientSecret") != "":
		in.Login, a.Password = provider.Principal, get("clientSecret")
	case byPrincipal && get("clientCertificate") != "" && get("clientCertificatePassword") != "":
		return "clientCertificatePassword is not supported; want clientCertificate in PEM form without a password"
	case byPrincipal && get("clientCertificate") != "":
		in.Login, a.Password = provider.CertifiedClient, get("clientCertificate")
	case a.Username != "":
		in.Login, a.Cloud.Namespace = provider.ManagedClient, namespace
	case get("accountKey") != "":
		in.Login, a.Password = provider.AccountKey, get("accountKey")
	case get("sasKey") != "":
		in.Login, a.Password = provider.SharedAccess, get("sasKey")
	case in.Authority == "":
		return "want clientId with tenantId and clientSecret or clientCertificate, clientId alone, accountKey, or sasKey"
	}
	return ""
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
