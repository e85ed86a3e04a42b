package flux

import (
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// Source reads a GitRepository.
func (GitRepositories) Source(cr object.Object) dialect.Source {
	r := &reading{}
	s, _ := r.source(cr)
	s.Problems, s.Notes = r.Problems, r.Notes
	return s
}

func (r *reading) source(cr object.Object) (dialect.Source, sourcev1.GitRepositorySpec) {
	r.Kind(cr, sourceAPI, gitRepository)
	var spec sourcev1.GitRepositorySpec
	fields := r.spec(cr, &spec, unsupportedInGitRepository)
	s := dialect.Source{
		Key:        app.SourceKey{Kind: gitRepository, Namespace: cr.Namespace(), Name: cr.Name()},
		UID:        cr.UID(),
		Generation: cr.Generation(),
		Timeout:    source.DefaultTimeout,
		Suspended:  spec.Suspend,
		Deleting:   cr.At("metadata", "deletionTimestamp") != nil,
	}
	s.Request, _ = cr.Annotation(requestedAt)
	r.required(fields, "interval", "the time between two looks for new commits, such as 1m")
	s.Interval = r.period("spec.interval", spec.Interval.Duration)
	if spec.Timeout != nil {
		s.Timeout = r.timeout("spec.timeout", spec.Timeout.Duration)
	}
	if spec.SecretRef != nil {
		s.Secret = spec.SecretRef.Name
		r.secretRef(s.Secret, spec.URL)
	}
	r.required(fields, "url", "where the repository is")
	r.url(spec.URL)
	if spec.Provider != "" && spec.Provider != sourcev1.GitProviderGeneric {
		r.Unsupported("spec.provider", "only generic, which takes credentials from secretRef")
	}
	return s, spec
}

// timeout reads a bound: a fetch that may take no time at all never ends well.
func (r *reading) timeout(field string, d time.Duration) time.Duration {
	if d = r.span(field, d); d == 0 {
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

// Spec says what to fetch.
func (GitRepositories) Spec(cr object.Object, secret map[string][]byte) (source.Spec, error) {
	r := &reading{}
	s, spec := r.source(cr)
	if len(r.Problems) > 0 {
		reason := source.NotSupported
		if r.HasProblem("spec.url") {
			reason = source.URLInvalid
		}
		return source.Spec{}, refusedSource(s.Key, reason, sentences(r.Problems))
	}
	out := source.Spec{URL: spec.URL, Timeout: s.Timeout}
	if ref := spec.Reference; ref != nil {
		out.Ref = source.Ref{Branch: ref.Branch, Tag: ref.Tag, SemVer: ref.SemVer, Name: ref.Name, Commit: ref.Commit}
	}
	if spec.Ignore != nil {
		out.Ignore = *spec.Ignore
	}
	if s.Secret == "" {
		return out, nil
	}
	if secret == nil {
		return source.Spec{}, refusedSource(s.Key, source.AuthenticationFailed, "Secret "+s.Secret+" is not there")
	}
	var lack string
	if out.Auth, lack = readAuth(spec.URL, secret); lack != "" {
		return source.Spec{}, refusedSource(s.Key, source.AuthenticationFailed, "Secret "+s.Secret+": "+lack)
	}
	return out, nil
}
