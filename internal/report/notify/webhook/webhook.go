// Package webhook answers: how does a message reach an HTTP address?
//
// In: messages, and the address of Flux's notification-controller, or of anything that takes what its generic Provider sends.
// Out: one POST a message, in the form of Flux's events (github.com/fluxcd/pkg/apis/event, Event).
// Promise: a receiver that is away for a moment gets it later, one that says "too many" is not asked again; the address's credentials
// are in no error.
// Not here: which news there are (dialect, controller).
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// Flux's recorder tries four times more, and waits at most so long (fluxcd/pkg/runtime/events).
const (
	retries       = 4
	firstPause    = 500 * time.Millisecond
	longest       = 5 * time.Second
	oneAttempt    = 15 * time.Second
	mostRedirects = 3

	longestText = 39000 // of a message, as Flux's API has it

	longestSaying = 160 // of what a receiver says in an error, in bytes
)

// reporter is who sends the messages.
const reporter = "truce"

// instance is what Events name as the instance that reports.
const instance = "truce-controller"

// Sender posts messages to one address.
type Sender struct {
	address string
	name    string // of the address, without its path: that of a chat's webhook is a secret
	client  *retryablehttp.Client
	secrets redact.Known // what the address holds of them
}

var _ notify.Sender = (*Sender)(nil)

// NewSender returns a Sender for an http(s) address.
func NewSender(address string) (*Sender, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("want http://HOST[:PORT][/PATH] or https://…")
	}
	c := retryablehttp.NewClient()
	c.Logger = nil // what fails is returned
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = retries, firstPause, longest
	c.HTTPClient.Timeout = oneAttempt
	c.HTTPClient.CheckRedirect = checkRedirect
	c.CheckRetry, c.ErrorHandler = shouldRetry, retryablehttp.PassthroughErrorHandler
	secrets := append(strings.Split(u.EscapedPath(), "/"), u.Path, u.RawQuery)
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
	}
	return &Sender{address: address, name: u.Scheme + "://" + u.Host, client: c, secrets: redact.KnownOf(secrets...)}, nil
}

// checkRedirect follows no redirect (301, 302, 303) after which net/http reads a page in place of sending the message: its 200 would be no success.
func checkRedirect(next *http.Request, before []*http.Request) error {
	if next.Method != before[0].Method || len(before) > mostRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// shouldRetry asks again where the receiver is in trouble, and not where it has said that it has had enough: Flux's does for what it knows.
func shouldRetry(ctx context.Context, r *http.Response, err error) (bool, error) {
	if r != nil && r.StatusCode == http.StatusTooManyRequests {
		return false, nil
	}
	return retryablehttp.DefaultRetryPolicy(ctx, r, err)
}

// payload is the form of a message.
type payload struct {
	InvolvedObject      reference         `json:"involvedObject"`
	Severity            notify.Severity   `json:"severity"`
	Timestamp           string            `json:"timestamp"` // in seconds, as a metav1.Time prints
	Message             string            `json:"message"`
	Reason              string            `json:"reason"`
	Metadata            map[string]string `json:"metadata,omitempty"`
	ReportingController string            `json:"reportingController"`
	ReportingInstance   string            `json:"reportingInstance"`
}

// reference is the part of a core/v1 ObjectReference that Flux fills.
type reference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	UID        string `json:"uid,omitempty"`
}

// Send posts a message. That the receiver has had enough of it is no error.
func (s *Sender) Send(ctx context.Context, m notify.Message) error {
	body, err := json.Marshal(newPayload(m))
	if err != nil {
		return err
	}
	q, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, s.address, body)
	if err != nil {
		return fmt.Errorf("notify %s: %w", s.name, withoutAddress(err))
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := s.client.Do(q)
	if err != nil {
		return fmt.Errorf("notify %s: %w", s.name, withoutAddress(err))
	}
	defer func() { _ = r.Body.Close() }() // it was read
	said, _ := io.ReadAll(io.LimitReader(r.Body, 256))
	if r.StatusCode >= http.StatusMultipleChoices && r.StatusCode != http.StatusTooManyRequests {
		text := fmt.Sprintf("notify %s: %d %s", s.name, r.StatusCode, http.StatusText(r.StatusCode))
		if line := s.secrets.Foreign(string(said), longestSaying); line != "" {
			text += fmt.Sprintf("; the server says %q", line)
		}
		return errors.New(text)
	}
	return nil
}

func newPayload(m notify.Message) payload {
	e := payload{
		InvolvedObject: reference{m.APIVersion, m.About.Kind, m.About.Namespace, m.About.Name, m.UID},
		Severity:       m.Severity, Timestamp: m.At.UTC().Format(time.RFC3339), Message: m.Text, Reason: m.Reason, Metadata: map[string]string{},
		ReportingController: reporter, ReportingInstance: instance,
	}
	if len(e.Message) > longestText {
		e.Message = strings.ToValidUTF8(e.Message[:longestText-3], "") + "..."
	}
	for k, v := range m.Evidence {
		e.Metadata["truce.dev/"+k] = v
	}
	for k, v := range m.Annotations {
		if strings.HasPrefix(k, route.MetadataPrefix) {
			e.Metadata[k] = v
		}
	}
	for k, v := range m.OwnMetadata() {
		if v != "" {
			e.Metadata[m.About.Group+"/"+k] = v
		}
	}
	if m.Reason == "ReconciliationSucceeded" && m.About.Kind == "Kustomization" && m.Evidence[notify.FactChanged] == "" {
		e.Metadata[m.About.Group+"/commit_status"] = "update" // notification-controller brings it to the status of the commit, and to generic receivers
	}
	return e
}

// withoutAddress is an error without the address, which may bear a token.
func withoutAddress(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
