// Package webhook answers: does this webhook come from the sender that it names, and what does it say has happened?
//
// In: the headers and the body of a request, the kind of its sender, and the secret that the two share, or the claims of the sender's verified token.
// Out: an error for a request that is not authentic; else the name of its event, and its body as JSON.
// Promise: pure; nothing of a body is parsed before its sender is verified; secrets are compared in constant time, and are in no error.
// Not here: the listener and its limits (controller/webhooks), tokens of OpenID Connect (source/oidc), which custom resources are named (dialect/flux).
package webhook

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/cel"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Key names a Receiver.
type Key struct{ Namespace, Name string }

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Receiver says which webhooks ask for what, without its secret.
type Receiver struct {
	Key        Key
	Generation int64
	Type       string
	Interval   time.Duration // at which its Secret is read again
	Events     []string      // that are taken; none for all
	Resources  []Resource
	Filter     cel.Expression // over a resource and the body; the zero value for none
	Secret     string         // the name of a Secret of its namespace
	Issuers    []Issuer       // of the tokens of its senders, for the type generic-oidc
	Suspended  bool
	// Deleting is since when its custom resource is being deleted; zero for one that is not.
	Deleting time.Time
	// Finalizer is what another controller has put on the custom resource to clean up before it goes; empty for none.
	Finalizer string
	Request   string // of a person to read it again; empty for none

	Problems []app.Problem
	Notes    []string
}

// Resource names custom resources that are to look for news.
type Resource struct {
	Kind, Namespace, Name string            // Name is "*" for all
	Labels                map[string]string // only with the name "*"
	Filter                cel.Expression    // beside the Receiver's
}

// Matches reports whether a custom resource of the kind and namespace is named.
func (r Resource) Matches(cr object.Object) bool {
	if r.Name != "*" {
		return r.Name == cr.Name()
	}
	for key, want := range r.Labels {
		if have, there := cr.Label(key); !there || have != want {
			return false
		}
	}
	return true
}

// State is what is known of a Receiver, for its status.
type State struct {
	Problems []app.Problem
	Missing  string // why its token is not known; empty for one that is
	Path     string // at which its webhooks are taken; empty for none
	Notes    []string
	Handled  string // the request that was answered last
	At       time.Time
}
