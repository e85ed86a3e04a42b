package bucket

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/sigv4"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// tokenService gives temporary credentials to a user of LDAP.
type tokenService struct {
	http *http.Client
	url  string
	user source.Auth

	mu    sync.Mutex // held during a request, which all that want credentials wait for
	now   sigv4.Credentials
	until time.Time
}

// early is how long before their end credentials are replaced.
const early = time.Minute

// credentials returns those that are valid now.
func (s *tokenService) credentials(ctx context.Context) (sigv4.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Key != "" && time.Now().Before(s.until) {
		return s.now, nil
	}
	given, until, err := s.ask(ctx)
	if err != nil {
		return sigv4.Credentials{}, &transport.FetchError{Reason: source.BucketFailed, Err: &tokenError{err}}
	}
	s.now, s.until = given, until.Add(-early)
	return given, nil
}

// tokenError is a failure of the service that gives credentials, not of the storage.
type tokenError struct{ err error }

// Error says which server it is about.
func (e *tokenError) Error() string {
	return "get credentials of the token service (spec.sts): " + e.err.Error()
}

// Unwrap gives the cause.
func (e *tokenError) Unwrap() error { return e.err }

// forget makes the next request ask for credentials.
func (s *tokenService) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = sigv4.Credentials{}
}

// ask calls AssumeRoleWithLDAPIdentity.
func (s *tokenService) ask(ctx context.Context) (sigv4.Credentials, time.Time, error) {
	form := url.Values{
		"Action": {"AssumeRoleWithLDAPIdentity"}, "Version": {"2011-06-15"}, "LDAPUsername": {s.user.Username}, "LDAPPassword": {s.user.Password},
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(form.Encode()))
	if err != nil {
		return sigv4.Credentials{}, time.Time{}, errors.New("its address is malformed")
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.Header.Set("User-Agent", "truce")
	answer, err := s.http.Do(q)
	if err != nil {
		return sigv4.Credentials{}, time.Time{}, err
	}
	if answer.StatusCode != http.StatusOK {
		refused := readRefusal(answer)
		refused.signed = true
		return sigv4.Credentials{}, time.Time{}, errors.Join(refused, answer.Body.Close())
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostOfRefusal))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return sigv4.Credentials{}, time.Time{}, err
	}
	return parseTokens(data)
}

// parseTokens reads the answer of the service.
func parseTokens(data []byte) (sigv4.Credentials, time.Time, error) {
	var document struct {
		XMLName xml.Name `xml:"AssumeRoleWithLDAPIdentityResponse"`
		Result  struct {
			Credentials struct {
				AccessKeyID     string `xml:"AccessKeyId"`
				SecretAccessKey string
				SessionToken    string
				Expiration      time.Time
			}
		} `xml:"AssumeRoleWithLDAPIdentityResult"`
	}
	if xml.Unmarshal(data, &document) != nil {
		return sigv4.Credentials{}, time.Time{}, errors.New("its answer is no document of AssumeRoleWithLDAPIdentity")
	}
	c := document.Result.Credentials
	if c.AccessKeyID == "" || c.SecretAccessKey == "" || strings.ContainsFunc(c.AccessKeyID+c.SessionToken, isNoText) {
		return sigv4.Credentials{}, time.Time{}, errors.New("its answer holds no credentials")
	}
	return sigv4.Credentials{Key: c.AccessKeyID, Secret: c.SecretAccessKey, Token: c.SessionToken}, c.Expiration, nil
}
