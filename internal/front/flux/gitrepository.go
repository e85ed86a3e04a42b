package flux

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/front"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/source"
)

// Source reads a GitRepository.
func (GitRepositories) Source(cr object.Object) front.Source {
	r := &reading{}
	s, _ := r.source(cr)
	s.Problems, s.Notes = r.problems, r.notes
	return s
}

func (r *reading) source(cr object.Object) (front.Source, sourcev1.GitRepositorySpec) {
	r.kind(cr, sourceAPI, gitRepository)
	var spec sourcev1.GitRepositorySpec
	fields := r.spec(cr, &spec, lackingGitRepository)
	s := front.Source{
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
		r.lacks("spec.provider", "only generic, which takes credentials from secretRef")
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
		r.problem("spec.secretRef.name", "required")
	}
	if strings.HasPrefix(address, "http://") {
		r.note("spec.url begins with http://, so that the credentials of spec.secretRef travel unencrypted")
	}
}

// scpForm is git's user@host:path.
var scpForm = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:[^:]`)

// url refuses what no fetch can make sense of. The address itself is in no message, since it may hold a password.
func (r *reading) url(text string) {
	const at = "spec.url"
	switch {
	case text == "":
		r.problem(at, "required: where the repository is")
		return
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.problem(at, "holds a control character")
		return
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"):
		return
	case !strings.Contains(text, "://") && scpForm.MatchString(text):
		return
	}
	u, err := url.Parse(text)
	if err != nil {
		r.problem(at, "is not a URL")
		return
	}
	switch u.Scheme {
	case "http", "https", "ssh":
		if u.Hostname() == "" {
			r.problem(at, "names no host")
		}
	case "file":
	default:
		r.problem(at, "want http://, https://, ssh://, user@host:path, file:// or an absolute path")
	}
	if u.User != nil && u.Scheme != "ssh" {
		r.note("spec.url holds credentials, which everybody who can read the GitRepository can see; put them into spec.secretRef")
	}
}

// Spec says what to fetch.
func (GitRepositories) Spec(cr object.Object, secret map[string][]byte) (source.Spec, error) {
	r := &reading{}
	s, spec := r.source(cr)
	if len(r.problems) > 0 {
		reason := source.NotSupported
		if r.about("spec.url") {
			reason = source.URLInvalid
		}
		return source.Spec{}, refusedSource(s.Key, reason, sentences(r.problems))
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
	if out.Auth, lack = auth(spec.URL, secret); lack != "" {
		return source.Spec{}, refusedSource(s.Key, source.AuthenticationFailed, "Secret "+s.Secret+": "+lack)
	}
	return out, nil
}
