// Package payload answers: which request brings this message to this kind of receiver?
//
// In: what a message says (Content), and where it goes (Target).
// Out: a Request; an error where the Provider or its Secret lacks what the receiver needs.
// Promise: pure; the same content gives the same request, to the byte; text of others is escaped in the form of each receiver, so that it mentions
// no person and makes no link; a credential is where the receiver wants it and nowhere else.
// Not here: sending (deliver), which messages there are (route, matter).
package payload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// reporter is who sends the messages.
const reporter = "truce"

// instance is what Events name as the instance that reports.
const instance = "truce-controller"

// Fact is something that a message says beside its text.
type Fact struct{ Name, Value string }

// Content is what one request says: one message, or several that were joined.
type Content struct {
	Message notify.Message // the first one, of the highest severity
	Title   string         // what it is about: "kustomization/web.shop"
	Lines   []string       // the texts
	Facts   []Fact
	// Metadata is what the notes say beside their evidence: receivers choose by it.
	Metadata   map[string]string
	Count      int          // of messages that were joined
	Key        string       // the same for messages about one matter
	ID         string       // the same for another try of the same request
	Ended      bool         // the matter is over
	ClosesOnly bool         // it says nothing but that
	Closes     []route.Note // what was said of the matter before
	From       []int        // which of the notes it says
	Commit     Commit       // what a commit's status says; only for IsCommitStatus
	Pull       string       // the number of the pull request; only for IsComment
	Nothing    bool         // there is nothing to send: its notes are done
	Form       *route.Form  // in the words of a template, in which it is sent alone; nil for truce's own
}

// Text returns all lines.
func (c Content) Text() string { return strings.Join(c.Lines, "\n") }

// IsError reports whether it is bad news.
func (c Content) IsError() bool { return c.Message.Severity == notify.Error }

// Target is a receiver, with its credentials.
type Target struct {
	Type     string
	Address  string
	Channel  string
	Thread   int64 // of a chat of Telegram; 0 for none
	Username string
	Token    string
	IsBearer bool   // of Token: a cloud gave it for an identity or a key
	Login    string // for Basic authentication
	Password string
	Headers  map[string]string // of the Secret
	Secrets  map[string]string // that a Form may name, of a webhook of Argo CD's
	UID      string            // of the Provider
}

// Request is an HTTP request, or what the scheme of its URL says: a mail (smtp, smtps), or a message of NATS (nats, tls).
type Request struct {
	Method  string
	URL     string
	Headers map[string]string
	Body    []byte
	Mail    *Envelope // of a mail, of which the body holds the headers
	Subject string    // of a message of NATS
	Thread  *Thread   // of a comment that may be there already, and is updated then
}

// builder makes the request of one type.
type builder interface {
	build(Target, Content) (Request, error)
}

// types are the types of Providers, as Flux names them; email is truce's own. Mattermost takes what is for Slack.
var types = map[string]builder{
	"generic": generic{}, "generic-hmac": generic{signed: true},
	"slack": slack{}, "rocket": rocket{}, "discord": discord{}, "msteams": teams{}, "googlechat": googleChat{}, "lark": lark{},
	"telegram": telegram{}, "matrix": matrix{}, "webex": webex{}, "zulip": zulip{},
	"alertmanager": alertmanager{}, "pagerduty": pagerDuty{}, "opsgenie": opsgenie{},
	"github": gitHub{}, "gitlab": gitLab{}, "gitea": gitea{}, "bitbucket": bitbucket{}, "bitbucketserver": bitbucketServer{}, "azuredevops": azureDevOps{},
	"githubpullrequestcomment": comment{forgeGitHub}, "gitlabmergerequestcomment": comment{forgeGitLab}, "giteapullrequestcomment": comment{forgeGitea},
	"grafana": grafana{}, "sentry": sentry{}, "datadog": datadog{}, "githubdispatch": githubDispatch{},
	"email": email{}, "nats": nats{}, "googlepubsub": pubSub{}, "azureeventhub": eventHub{}, "otel": otel{},
	ArgoService + "webhook": argoWebhook{}, ArgoService + "opsgenie": argoOpsgenie{}, ArgoService + "pagerduty": argoIncident{}, ArgoService + "pagerdutyv2": argoPagerDuty{},
	ArgoService + "alertmanager": argoAlert{}, ArgoService + "mattermost": argoMattermost{}, ArgoService + "newrelic": argoDeployment{},
	ArgoService + "pushover": argoPushover{}, ArgoService + "github": argoStatus{},
}

// Supports reports whether messages can be sent to a type of Provider.
func Supports(name string) bool { return types[name] != nil && !strings.HasPrefix(name, ArgoService) }

// TypeNames returns the types, in order.
func TypeNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(types)), func(name string) bool { return !Supports(name) })
}

// BuildRequest returns the request that says the content to the target.
func BuildRequest(t Target, c Content) (Request, error) {
	b := types[t.Type]
	if b == nil {
		return Request{}, fmt.Errorf("truce sends nothing to a Provider of type %q: want one of %s", t.Type, strings.Join(TypeNames(), ", "))
	}
	r, err := buildWithin(b, t, c)
	if err != nil {
		return Request{}, err
	}
	if r.Mail != nil || r.Subject != "" {
		return r, nil
	}
	if err := checkAddress(r.URL); err != nil {
		return Request{}, err
	}
	if _, attributes := b.(pubSub); attributes {
		return r, nil
	}
	maps.Copy(r.Headers, t.Headers)
	return r, nil
}

// mostBytes is how large a request may be that a type of receiver takes, in bytes, as its vendor publishes it. Of the others defaultBytes is taken by all.
var mostBytes = map[string]int{"webex": 7439, "lark": 20 << 10, "msteams": 28 << 10, "googlechat": 32000, "matrix": 65536 - 4096, "githubdispatch": 64000}

const defaultBytes = 250 << 10

// buildWithin builds a request that the receiver does not refuse for its size: a content that is too long is cut until it fits.
func buildWithin(b builder, t Target, c Content) (Request, error) {
	most := cmp.Or(mostBytes[t.Type], defaultBytes)
	r, err := b.build(t, c)
	for longest := 8000; err == nil && len(r.Body) > most && c.Form == nil && longest >= 100; longest /= 2 {
		r, err = b.build(t, c.cutTo(longest))
	}
	return r, err
}

// cutTo returns the content with a text of so many characters at most, and with facts that are not much longer. What names an alert stays whole.
func (c Content) cutTo(longest int) Content {
	c.Lines = []string{shorten(c.Text(), longest)}
	facts := c.Facts[:min(len(c.Facts), mostFacts)]
	c.Facts = nil
	for _, f := range facts {
		c.Facts = append(c.Facts, Fact{shorten(f.Name, 100), shorten(f.Value, longest/10)})
	}
	return c
}

// mostFacts is how many facts a content has that was cut.
const mostFacts = 25

// checkAddress refuses what is no address of a server. The address itself is in no message.
func checkAddress(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the address is no http(s) URL: set spec.address, or the key address of the Secret")
	}
	return nil
}

// postJSON returns a POST of a value as JSON.
func postJSON(address string, value any) (Request, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return Request{}, err
	}
	return Request{Method: "POST", URL: address, Headers: map[string]string{"Content-Type": "application/json"}, Body: []byte(strings.TrimSuffix(b.String(), "\n"))}, nil
}

// authorized adds an Authorization header, where there is a credential.
func authorized(r Request, scheme, credential string) Request {
	if credential != "" {
		r.Headers["Authorization"] = scheme + " " + credential
	}
	return r
}

// joinURL appends a path to an address that lacks it.
func joinURL(address, path string) string {
	address = strings.TrimSuffix(address, "/")
	if strings.HasSuffix(address, path) {
		return address
	}
	return address + path
}

// shorten cuts a text to a number of characters.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// missing is an error that says which key of the Secret, or which field, is needed.
func missing(kind, what string) error {
	return fmt.Errorf("a Provider of type %s needs %s", kind, what)
}

// timestampOf prints a time as most receivers take it.
func timestampOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }
