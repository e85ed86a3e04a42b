package payload

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/truce-gitops/truce/internal/report/notify"
)

// generic sends the form of Flux's events (github.com/fluxcd/pkg/apis/event, Event); signed, with an HMAC of the body.
type generic struct{ signed bool }

// event is the form of a message.
type event struct {
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

// longestText is how long the message of an event may be, in Flux's API.
const longestText = 39000

func newEvent(c Content) event {
	m := c.Message
	text := c.Text()
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText-3], "") + "..."
	}
	e := event{
		InvolvedObject: reference{m.APIVersion, m.About.Kind, m.About.Namespace, m.About.Name, m.UID},
		Severity:       m.Severity, Timestamp: timestampOf(m.At), Message: text, Reason: m.Reason, Metadata: map[string]string{},
		ReportingController: reporter, ReportingInstance: instance,
	}
	for _, f := range c.Facts {
		e.Metadata[f.Name] = f.Value
	}
	return e
}

func (g generic) build(t Target, c Content) (Request, error) {
	r, err := postJSON(t.Address, newEvent(c))
	if err != nil {
		return r, err
	}
	r.Headers["Gotk-Component"] = reporter // as Flux's generic Provider names the sender
	if !g.signed {
		return authorized(r, "Bearer", t.Token), nil
	}
	if t.Token == "" {
		return r, missing("generic-hmac", "the key token in its Secret")
	}
	sum := hmac.New(sha256.New, []byte(t.Token))
	sum.Write(r.Body)
	r.Headers["X-Signature"] = "sha256=" + hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

// eventType is KIND/NAME.NAMESPACE, as in Flux: workflows are chosen by it.
func eventType(c Content) string {
	a := c.Message.About
	return a.Kind + "/" + a.Name + "." + a.Namespace
}

// githubDispatch starts workflows of a GitHub repository by a repository_dispatch event.
type githubDispatch struct{}

func (githubDispatch) build(t Target, c Content) (Request, error) {
	if t.Token == "" {
		return Request{}, missing("githubdispatch", "the key token in its Secret")
	}
	address, err := githubRepository(t.Address)
	if err != nil {
		return Request{}, err
	}
	r, err := postJSON(address+"/dispatches", map[string]any{"event_type": shorten(eventType(c), 100), "client_payload": newEvent(c)})
	r.Headers = map[string]string{"Content-Type": "application/json", "Accept": "application/vnd.github+json"}
	return authorized(r, "Bearer", t.Token), err
}

// githubRepository returns the address of a repository in GitHub's API, by its address for people.
func githubRepository(address string) (string, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	host, path, _ := strings.Cut(rest, "/")
	parts := strings.Split(strings.TrimSuffix(strings.Trim(path, "/"), ".git"), "/")
	if !ok || host == "" || len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return "", missing("githubdispatch", "an address such as https://github.com/OWNER/REPOSITORY")
	}
	if host == "github.com" {
		return scheme + "://api.github.com/repos/" + parts[0] + "/" + parts[1], nil
	}
	return scheme + "://" + host + "/api/v3/repos/" + parts[0] + "/" + parts[1], nil
}
