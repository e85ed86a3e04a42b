package source

import (
	"errors"
	"strings"
)

// ErrNotLocal says that a URL cannot be watched, only polled.
var ErrNotLocal = errors.New("not a local repository")

// Reason classes what went wrong, so that a dialect can name its own condition reason.
type Reason string

// The reasons; the first three are Flux's names.
const (
	URLInvalid           Reason = "URLInvalid"           // malformed, or of a form that is not allowed
	AuthenticationFailed Reason = "AuthenticationFailed" // credentials or host key missing or wrong
	GitOperationFailed   Reason = "GitOperationFailed"   // unreachable, vanished, corrupt
	RefInvalid           Reason = "RefInvalid"           // not a legal reference
	RefNotFound          Reason = "RefNotFound"          // legal, but not there
	EmptyRepository      Reason = "EmptyGitRepository"   // it has no branch; the word is Flux's
	HostNotAllowed       Reason = "HostNotAllowed"       // at an address that sources must not have
	LimitExceeded        Reason = "LimitExceeded"
	Timeout              Reason = "Timeout"
	PullFailed           Reason = "OCIArtifactPullFailed"           // of a registry: unreachable, refused, or without what was asked for
	BucketFailed         Reason = "BucketOperationFailed"           // of an object storage: unreachable, refused, or not readable
	RepositoryFailed     Reason = "Failed"                          // of a Helm repository: unreachable or refused; the word is Flux's
	IndexationFailed     Reason = "IndexationFailed"                // its index cannot be read
	ChartReference       Reason = "InvalidChartReference"           // its index has no such chart, or no such version of it
	DependencyBuild      Reason = "DependencyBuildError"            // a chart that it depends on cannot be what is meant
	ValuesFiles          Reason = "ValuesFilesError"                // a values file that a HelmChart names is not there
	NoSourceArtifact     Reason = "NoSourceArtifact"                // the source of a HelmChart has not been fetched
	SourceUnavailable    Reason = "SourceUnavailable"               // the source of a HelmChart is not there
	ChartPull            Reason = "ChartPullError"                  // the archive of a chart cannot be fetched
	LayerFailed          Reason = "OCIArtifactLayerOperationFailed" // an archive that cannot be read, or the artifact has no such layer
	ReadFailed           Reason = "ReadOperationFailed"             // no tag fits
	PathEscape           Reason = "PathEscape"                      // a link leads out of the tree
	VerificationFailed   Reason = "VerificationFailed"              // not signed, or not by a trusted key
	VerificationError    Reason = "VerificationError"               // the trusted keys are missing or cannot be read
	NotSupported         Reason = "NotSupported"                    // a submodule was opened
	IncludeNotFound      Reason = "NotFound"                        // a source of which files are included is not there; the words are Flux's
	IncludeNoArtifact    Reason = "NoArtifact"                      // it has no artifact
	IncludeCopyFailure   Reason = "CopyFailure"                     // the files cannot be put together
	IncludeCycle         Reason = "IncludeCycle"                    // sources include each other
	AccessDenied         Reason = "AccessDenied"                    // a source of another namespace, which the flags forbid
	SourceFetchFailed    Reason = "SourceFetchFailed"               // a source of an ArtifactGenerator has no artifact; the words are Flux's
	BuildFailed          Reason = "BuildFailed"                     // its files cannot be put together
	ReconcileFailed      Reason = "ReconciliationFailed"            // its ExternalArtifacts cannot be written
)

// Error is what a Fetcher and a Tree return.
type Error struct {
	Op      string // fetch, open
	Subject string // the URL without credentials, or the path
	Reason  Reason // empty when the caller's own context ended
	Err     error
	// Rejected says that the server does not know the credentials that it was sent (HTTP 401): servers lock the accounts of who sends such often.
	Rejected bool
}

// Error is the operation, the subject and the cause.
func (e *Error) Error() string {
	return strings.Join([]string{e.Op + " " + e.Subject, e.Err.Error()}, ": ")
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
