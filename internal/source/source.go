// Package source answers: which files, at which revision?
//
// In: a Spec (address, reference, credentials, ignore rules, limits), in no dialect.
// Out: an Artifact: the revision, an identity of the content, and the files as an immutable Tree.
// Promise: an Artifact is complete, verified and within its limits, or there is none. Nothing
// outside the tree can be reached through it. No credential is in any error or printed value.
// Not here: how files are fetched (the children), what they mean (render), when to look again (controller).
package source

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/model/release/chart"
	"github.com/truce-gitops/truce/internal/model/signing"
)

// Spec says which files to fetch. It is comparable: equal values mean the same request.
type Spec struct {
	// Kind says which Fetcher reads the rest; the zero value is a Git repository.
	Kind Kind
	// MediaType picks the layer of an artifact in a registry; empty means the first.
	MediaType string
	// PlusTags says that an underscore in a tag of Ref.SemVer is a plus: Helm writes the version 1.2.3+b7 of a chart so, as a tag may have no plus.
	PlusTags bool
	// Whole says that nothing is excluded from the artifact.
	Whole bool
	// Bucket says which objects of an object storage are meant.
	Bucket Bucket
	// Chart says which chart of a Helm repository is meant.
	Chart Chart
	// Origin is the revision that an archive was made of, where that is known before it is fetched.
	Origin string
	// Insecure says that a registry may be reached without TLS.
	Insecure bool
	// URL is an absolute path, or one that starts with "./" or "../"; a file://, http://, https:// or
	// ssh:// URL; or the scp form user@host:path.
	URL string
	// Ref picks the commit; the zero value is the branch "master", as in a Flux GitRepository.
	Ref Ref
	// Auth is presented to the server of URL and to no other.
	Auth Auth
	// Ignore holds further exclusions, in the syntax of .sourceignore (spec.ignore of Flux's sources). They are read after
	// the .sourceignore files of the tree. Without any of both, Flux's default list holds.
	Ignore string
	// Sparse are the directories that alone are in the artifact, a line each, in the form of fs.ValidPath; empty means all
	// (spec.sparseCheckout of a GitRepository).
	Sparse string
	// Submodules says that the files of submodules are in the artifact, at the commits that are recorded.
	Submodules bool
	// Verify says which signatures there must be; the zero value asks for none.
	Verify Verification
	// Timeout bounds one fetch; zero means DefaultTimeout.
	Timeout time.Duration
	// Limits bound the tree; zero fields mean their defaults.
	Limits Limits
	// Addresses are the IP addresses at which alone the server is reached, with commas between, where the caller has judged them. Empty means
	// those of its name that the Fetcher allows, egress.AnyAddress all of them. A proxy of the environment finds the server itself.
	Addresses string
}

// Verification says which objects of a Git repository, or that an artifact of a registry, must be signed, and by whom (spec.verify of a source).
type Verification struct {
	Commit, Tag bool
	PGP         string // armored public keys that are trusted, one after the other
	SSH         string // public keys that are trusted, one on each line
	// By says how an artifact of a registry must be signed (spec.verify of an OCIRepository, or of a chart).
	By           signing.By
	Cosign       string // PEM: public keys that are trusted, of CosignKeys
	Identities   string // who may sign, as signing.FormatIdentities writes them, of CosignIdentities; empty for everyone
	TrustedRoot  string // trusted_root.json, of CosignIdentities; empty for that of Sigstore's public instance
	Policy       string // trustpolicy.json, of Notation
	Certificates string // PEM: the certificates of its trust stores, of Notation
	Secret       string // namespace/name of the Secret that they are of, for messages
}

// Bucket says which objects of an object storage are meant, and who gives credentials for it.
type Bucket struct {
	Name   string
	Prefix string // of the keys of objects
	Region string // empty where it is to be found out
	// Tokens is the URL of a service that gives temporary credentials to a user of LDAP (AssumeRoleWithLDAPIdentity); empty for none.
	Tokens string
	// User is presented to that service: Username and Password, and the certificates.
	User Auth
	// API is that of the storage; the zero value is that of S3.
	API provider.StorageAPI
	// Login says what Auth.Password is to a storage of Azure or Google Cloud.
	Login provider.StorageLogin
	// Tenant and Authority are those of a service principal of Azure, which Auth.Username names, and Chain is "true" where its certificate is sent.
	Tenant, Authority, Chain string
}

// Chart says which chart of a Helm repository is meant. The zero value is the repository's index, without any chart.
type Chart struct {
	Name string
	// Version is the version, or a range of versions; empty for the newest one that is no prerelease.
	Version string
	// Index is the revision of the index that is read, of a repository that was looked at before; empty for the one that it has now.
	Index string
	// Elsewhere says that the credentials may be sent to other servers, where the index says that an archive is there.
	Elsewhere bool
}

// Kind is what a source is.
type Kind string

// The kinds of sources.
const (
	Git Kind = ""
	// Archive is a tar archive at a URL; Ref.Name is its digest, and Ref.Tag the revision that it is reported as.
	Archive Kind = "archive"
	OCI     Kind = "oci" // an artifact in a registry, at an oci:// URL; Ref.Name is a digest, and Ref.Commit the digits of a SHA-256
	// ObjectStorage is a bucket of a storage with the API of S3, of which URL is the endpoint.
	ObjectStorage Kind = "bucket"
	// HelmRepository is a repository of Helm charts with an index.yaml below URL, over HTTP.
	HelmRepository Kind = "helm"
)

// DefaultTimeout is Flux's default of spec.timeout.
const DefaultTimeout = 60 * time.Second

// Bound returns a context that ends when a fetch has taken its whole time; its cause, a context.DeadlineExceeded, says so.
func (s Spec) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := s.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	return context.WithTimeoutCause(ctx, limit, timeoutError{limit})
}

// timeoutError says that a fetch took its whole time.
type timeoutError struct{ limit time.Duration }

func (e timeoutError) Error() string        { return fmt.Sprintf("no answer within %s", e.limit) }
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Ref names a commit. When several fields are set, the first of Commit, Name, SemVer, Tag, Branch decides
// (spec.ref of a Flux GitRepository); a Branch beside a Commit says where that commit is to be found.
type Ref struct {
	Branch string // a short name: main
	Tag    string // a short name: v1.2.3
	SemVer string // a constraint over the tags that are versions: ">=1.0.0 <2.0.0"
	Strict bool   // of SemVer: a version has three numbers, after a "v" or none, as Flux reads tags; Argo CD takes v2 and 20240115, too
	Filter string // a regular expression that the tags of SemVer must match, of a registry
	Name   string // a full name: refs/pull/420/head
	Commit string // a full hash: 40 (SHA-1) or 64 (SHA-256) hexadecimal digits
	// Any is a short name of what may be either: the branch of that name, else the tag, else the commit of which it has the first digits, 7 to 39. It decides
	// where nothing else is set.
	Any string
}

// Auth holds credentials. It prints as "***".
type Auth struct {
	Username, Password string // HTTP basic; Username is also the SSH user where the URL names none; of a bucket, access key and secret key
	BearerToken        string // HTTP bearer; wins over Username and Password
	CABundle           string // PEM; of a source it is trusted beside the machine's roots, as in Flux
	ClientCert         string // PEM, with ClientKey: TLS client authentication
	ClientKey          string
	Identity           string            // PEM or OpenSSH private key
	IdentityPassword   string            // decrypts Identity
	RefreshToken       string            // for which a token server gives tokens of a registry
	Cloud              provider.Identity // gets credentials of a cloud for each fetch that needs them, instead of those above; no credential itself
	AppID              string            // of a GitHub App, which gets a token for each fetch that needs one
	AppInstallation    string            // of the App: its number; empty for the one of AppOwner
	AppOwner           string            // name of the organization or user that has installed the App
	AppKey             string            // PEM: its RSA private key
	AppURL             string            // of the API that gives the tokens
	AppCABundle        string            // PEM, as CABundle; of the server of AppURL
	Proxy              string            // URL of the proxy to use, with its credentials; empty for that of the environment
	Direct             bool              // the source's own server is reached by no proxy, whatever Proxy and the environment say
	KnownHosts         string            // lines of an OpenSSH known_hosts file; SSH is refused without, unless Insecure
	Insecure           bool              // neither the certificate nor the SSH host key of the source's own server is verified
	Secret             string            // namespace/name of the Secret that they are of, for messages; no credential itself
}

// SecretUser is the name of the user where no password stands beside it: it may be a token. Beside a password it is no secret, and hiding it, such as "flux",
// would hide parts of other names.
func (a Auth) SecretUser() string {
	if a.Password != "" {
		return ""
	}
	return a.Username
}

// Credentials are those that no message may have, some of them empty, beside SecretUser.
func (a Auth) Credentials() []string {
	out := []string{a.Password, a.BearerToken, a.RefreshToken, a.ClientKey, a.Identity, a.IdentityPassword, a.AppKey, a.Proxy}
	if proxy, err := url.Parse(a.Proxy); err == nil {
		password, _ := proxy.User.Password()
		out = append(out, password)
	}
	return out
}

// String hides every field.
func (Auth) String() string { return "***" }

// GoString hides every field.
func (Auth) GoString() string { return "source.Auth{***}" }

// Format hides every field, whatever the verb.
func (a Auth) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(a.String())) }

// MarshalText hides every field, as JSON too.
func (a Auth) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Artifact is what a Spec led to.
type Artifact struct {
	// Revision is in Flux's form: main@sha1:<commit>, v1.2.3@sha1:<commit>, or sha1:<commit> when only a commit was asked for; of a registry,
	// <tag>@sha256:<digest> or the digest alone.
	Revision string
	// Repository is the address without scheme and credentials: one for all ways to the same repository.
	Repository string
	// Digest identifies the files after the ignore rules: equal digests mean equal paths, modes and contents.
	Digest string
	Commit string // full hash; of another source than Git, the digits of what names the revision
	Author string // "Name <address>"
	// Message is the commit's message, cut at 4 KiB.
	Message string
	Time    time.Time // the committer's
	Files   Tree
	// Verified says which signatures were verified, and with which keys; empty where the Spec asked for none.
	Verified string
	// Metadata is what a registry says of the artifact: the annotations of its manifest.
	Metadata map[string]string
	// Chart says which chart of the files a HelmChart names; the zero value is of any other source.
	Chart chart.Files
	// Included are the artifacts of which files are in this one, without their own Files.
	Included []Artifact
}

// OriginRevision is the key of Artifact.Metadata of the revision that the artifact was made of.
const OriginRevision = "org.opencontainers.image.revision"

// Tree is an immutable set of files. Its methods may be called from many goroutines, for as long as the Fetcher
// that gave it is open. Open follows symbolic links inside the tree; it refuses, naming the link, one that leads outside.
// Open of a directory gives an fs.ReadDirFile. ReadDir shows links as links, so that fs.WalkDir does not follow them.
type Tree interface {
	fs.FS
	// Sum identifies the content of the file or directory at path without reading it. Equal sums mean equal content, also from
	// one revision to another; for a directory this includes what links in it lead to. The error is fs.ErrNotExist if absent.
	Sum(path string) (string, error)
}

// Fetcher brings files. Fetch may be called from many goroutines, and is idempotent. An answer was never begun before its call:
// what was pushed before the call is seen. Calls that ask for the same share one clone, and one fetch at a time.
// Errors are *Error; a failed Fetch returns no Artifact, and the caller keeps the one it has.
type Fetcher interface {
	Fetch(ctx context.Context, s Spec) (Artifact, error)
}

// Watcher reports changes where that needs no polling. Watch blocks until ctx ends (then it returns nil) or the watch breaks.
// It calls changed once as soon as it stands, so that nothing is missed before, and then a few milliseconds after each
// change of a reference. changed must not block. For a URL that is not on this machine, Watch returns ErrNotLocal at once.
type Watcher interface {
	Watch(ctx context.Context, url string, changed func()) error
}
