// Package route answers: which Alerts does a message belong to, and what does each of them add to it?
//
// In: Providers and Alerts, as a dialect reads them; messages.
// Out: whether an Alert takes a message, and the message as it goes out.
// Promise: pure; an Alert of one namespace takes messages about another only where references across namespaces are allowed.
// Not here: reading custom resources (dialect/flux), the forms of messages (payload), sending them (deliver).
package route

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// Key names a Provider or an Alert.
type Key struct{ Namespace, Name string }

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Provider is where messages go, without its credentials.
type Provider struct {
	Key        Key
	UID        string
	Generation int64
	Type       string
	Channel    string
	Thread     int64 // of a chat of Telegram; 0 for none
	Username   string
	Address    string // may hold a token: it is in no message
	Timeout    time.Duration
	Proxy      string
	Suspended  bool
	// StatusName is the expression of the name of a commit's status; the zero value for the usual one.
	StatusName cel.Expression
	// Secret, Certificates and ProxySecret name Secrets of its namespace; empty for none.
	Secret, Certificates, ProxySecret string
	// Account names the ServiceAccount whose identity at a cloud it has; empty for the controller's.
	Account string

	Problems []app.Problem
	Notes    []string
}

// Alert says which messages go to a Provider of its namespace.
type Alert struct {
	Key        Key
	Generation int64
	Provider   string
	ErrorsOnly bool
	Sources    []Source
	Include    []*regexp.Regexp // a message matches one of them; none for all
	Exclude    []*regexp.Regexp // a message matches none of them
	Metadata   map[string]string
	Summary    string
	Suspended  bool

	Problems []app.Problem
	Notes    []string
	Ignored  []app.Problem // expressions of the lists that are none: the others hold, as in Flux
}

// State is what is known of a Provider or an Alert, for its status.
type State struct {
	Problems []app.Problem
	// Failing says why messages do not go out; empty while they do. No credential is in it.
	Failing   string
	Suspended bool
	Notes     []string
	Ignored   []app.Problem // of an Alert's lists
	At        time.Time
}

// Source is what an Alert listens to.
type Source struct {
	Kind, Name, Namespace string            // Name is "*" for all
	Labels                map[string]string // only with the name "*"
}

// Takes reports whether a message goes to the Alert's Provider. Of a Provider or Alert of which something is wrong nothing is sent. The lists are matched against the
// message, and against what Flux's controllers say in its place: they were written for that.
func (a Alert) Takes(m notify.Message) bool {
	switch {
	case a.Suspended, len(a.Problems) > 0, a.ErrorsOnly && m.Severity != notify.Error:
		return false
	case !a.listensTo(m), m.Cause != (object.ID{}) && a.listensTo(notify.Message{About: m.Cause}):
		return false
	case len(a.Include) == 0 && len(a.Exclude) == 0:
		return true
	}
	texts := append(fluxTexts(m), m.Text)
	return !matchAny(a.Exclude, texts) && (len(a.Include) == 0 || matchAny(a.Include, texts))
}

// MayHaveTaken reports whether an earlier message about the same matter may have gone to the Alert's Provider, whatever it said.
func (a Alert) MayHaveTaken(m notify.Message) bool {
	return !a.Suspended && len(a.Problems) == 0 && a.listensTo(m)
}

func (a Alert) listensTo(m notify.Message) bool {
	return slices.ContainsFunc(a.Sources, func(s Source) bool { return s.names(m) })
}

func matchAny(expressions []*regexp.Regexp, texts []string) bool {
	return slices.ContainsFunc(expressions, func(r *regexp.Regexp) bool { return slices.ContainsFunc(texts, r.MatchString) })
}

// Hears reports whether the Alert listens to an app, with some labels.
func (a Alert) Hears(key app.Key) bool {
	return slices.ContainsFunc(a.Sources, func(s Source) bool {
		return s.Kind == key.Kind && s.Namespace == key.Namespace && (s.Name == "*" || s.Name == key.Name)
	})
}

func (s Source) names(m notify.Message) bool {
	if s.Kind != m.About.Kind || s.Namespace != m.About.Namespace {
		return false
	}
	if s.Name != "*" {
		return s.Name == m.About.Name
	}
	for key, want := range s.Labels {
		if have, there := m.Labels[key]; !there || have != want {
			return false
		}
	}
	return true
}

// ChangeRequest is the metadata that names the pull request at which a comment has the message, as in Flux.
const ChangeRequest = "change_request"

// MetadataPrefix is what the annotations of an object begin with that are metadata of its messages, in Flux.
const MetadataPrefix = "event.toolkit.fluxcd.io/"

// metadataOf returns what a message says beside its text: of the message itself, of the Alert, and of its object's annotations. What comes first holds, as in
// Flux: who writes the object does not overrule who writes the Alert.
func (a Alert) metadataOf(m notify.Message) map[string]string {
	out := map[string]string{}
	add := func(key, value string) {
		if _, there := out[key]; !there && value != "" {
			out[key] = value
		}
	}
	for key, value := range m.OwnMetadata() {
		add(key, value)
	}
	add("summary", a.Summary)
	for key, value := range a.Metadata {
		add(key, value)
	}
	for key, value := range m.Annotations {
		if name, ok := strings.CutPrefix(key, MetadataPrefix); ok {
			add(name, value)
		}
	}
	return out
}

// Note is a message on its way to one Provider.
type Note struct {
	Alert    Key
	Message  notify.Message
	Metadata map[string]string // beside the message's own evidence
	// Before is what was said of the matter until this message, for receivers that know an alert by what it says; nil for nothing.
	Before *Note `json:",omitempty"`
	// ClosesOnly says that the Alert takes no such message: it ends what the Alert took.
	ClosesOnly bool `json:",omitempty"`
	// StatusName is the name of a commit's status, where the Provider has an expression for it; NameFault says why there is none.
	StatusName, NameFault string `json:",omitempty"`
	// Form is what a template of Argo CD makes of the message; nil for truce's own form.
	Form *Form `json:",omitempty"`
}

// IsOnCall reports whether a type of receiver opens and closes alerts by their keys: messages to it are joined by their matter alone.
func IsOnCall(kind string) bool {
	return slices.Contains([]string{"alertmanager", "pagerduty", "opsgenie"}, kind)
}

// ClosesByKey reports whether a type of receiver closes an alert by a key that the matter alone makes: where none is open by it, that does nothing.
func ClosesByKey(kind string) bool { return kind == "pagerduty" || kind == "opsgenie" }

// TakesIdle reports whether a type of Provider gets the messages of revisions that have changed nothing, as in Flux.
func TakesIdle(kind string) bool { return kind == "generic" || kind == "generic-hmac" }

// MarkIdle marks the note of a revision that has changed nothing, as kustomize-controller does: it is for the status of a commit.
func (n Note) MarkIdle() {
	if n.Message.About.Kind == "Kustomization" {
		n.Metadata["commit_status"] = "update"
	}
}

// Form is a message in the words of a template. The fields are those that Argo CD's services have.
type Form struct {
	Text                string          `json:",omitempty"`
	Title               string          `json:",omitempty"`
	Facts               []FormFact      `json:",omitempty"`
	Attachments, Blocks json.RawMessage `json:",omitempty"` // of Slack
	Method, Path        string          `json:",omitempty"` // of a webhook
	Subject             string          `json:",omitempty"` // of a mail
	Body                string          `json:",omitempty"` // of a webhook or a mail

	Fields              map[string]string `json:",omitempty"` // of other services, by the names of their templates
	Labels, Annotations map[string]string `json:",omitempty"` // of an alert
}

// ErrUnfit says that what a template has made cannot be sent: another try makes it no better.
var ErrUnfit = errors.New("what the template makes cannot be sent")

// FormFact is a fact of a Form.
type FormFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Address returns the message as it goes to the Alert's Provider. Labels and annotations stay behind.
func (a Alert) Address(m notify.Message) Note {
	n := Note{Alert: a.Key, Message: m, Metadata: a.metadataOf(m)}
	n.Message.Labels, n.Message.Annotations = nil, nil
	n.Message.Evidence = maps.Clone(m.Evidence)
	return n
}
