// Package cloud answers: which credentials does an identity at AWS, Azure or Google Cloud have now?
//
// In: an identity: the controller's own, by the environment that its cloud gives its pod, or a ServiceAccount, by its annotations and a token.
// Out: a Credential for a registry, a repository, a storage or a cluster, with its end; an error with the reason AuthenticationFailed.
// Promise: requests go to the documented addresses of each cloud and to those that the controller's environment names, never to one that a custom resource
// chooses; no redirect is followed; each answer is bounded; a credential is kept in memory until shortly before its end, and is in no error.
// Not here: what the credentials are used for (source/oci, source/git, source/bucket, apply/remote), which identity a source has (controller).
package cloud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// Exchange gets credentials. It may be used concurrently; its fields do not change.
type Exchange struct {
	// Servers are those that may be connected to, but for metadata services: the services of clouds have public addresses, or private ones of a link.
	Servers egress.Policy
	// Environment is the controller's.
	Environment Environment
	// Accounts are those of the cluster; nil where none can be read.
	Accounts Accounts
	// Foreign says that this process is not the controller, whose own identity it has not.
	Foreign bool
	// Tenants say whose namespaces the controller's own identity is not for; nil for none.
	Tenants Tenants

	mu    sync.Mutex
	known map[string]*entry
}

// Environment are the variables of a process, by name.
type Environment map[string]string

// EnvironmentOf reads lines of the form NAME=VALUE, as os.Environ returns them.
func EnvironmentOf(lines []string) Environment {
	out := Environment{}
	for _, line := range lines {
		if name, value, ok := strings.Cut(line, "="); ok {
			out[name] = value
		}
	}
	return out
}

type identity = provider.Identity

// Accounts reads ServiceAccounts. It may be called concurrently.
type Accounts interface {
	// Annotations returns the annotations of a ServiceAccount. That it is not there is an error.
	Annotations(ctx context.Context, namespace, name string) (map[string]string, error)
	// AccountToken returns a token of a ServiceAccount for an audience.
	AccountToken(ctx context.Context, namespace, name, audience string) (string, error)
}

// Tenants say which identity the sources of a namespace have. They may be called concurrently.
type Tenants interface {
	// IdentityAccount is the ServiceAccount of what names none in a namespace; empty where the controller's own identity may be used there.
	IdentityAccount(namespace string) string
}

// Credential is what an identity is known by: User and Password, at AWS with Token, or Token alone. It prints as "***".
type Credential struct {
	User, Password, Token string
	Until                 time.Time // the zero time where it has no end
}

// String hides every field.
func (Credential) String() string { return "***" }

// GoString hides every field.
func (Credential) GoString() string { return "cloud.Credential{***}" }

// entry is one credential that is kept.
type entry struct {
	turn  chan struct{} // held while another one is asked for
	now   Credential
	asked time.Time // for now
	renew time.Time
}

// mostEarly is how long before its end a credential is replaced: or after four fifths of its life, if that is later.
const mostEarly = 5 * time.Minute

// request is one way to a credential.
type request interface {
	ask(ctx context.Context, e *Exchange) (Credential, error)
}

// kept returns a credential that has not ended. Keys of all that is different distinguish them.
func (e *Exchange) kept(ctx context.Context, key []string, r request) (Credential, error) {
	k := e.entry(fmt.Sprintf("%q", key))
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return Credential{}, context.Cause(ctx)
	}
	asked := time.Now()
	if asked.Before(k.renew) {
		return k.now, nil
	}
	got, err := r.ask(ctx, e)
	if err != nil {
		return Credential{}, err
	}
	k.now, k.asked, k.renew = got, asked, time.Time{}
	if !got.Until.IsZero() {
		k.renew = got.Until.Add(-min(mostEarly, got.Until.Sub(asked)/5))
	}
	return got, nil
}

// rejectedAfter is how old a token is that is replaced when it was rejected: in place of a younger one another would fare no better.
const rejectedAfter = 10 * time.Second

// RejectToken has other credentials asked for, in place of those with a token, or a password, that a server has rejected. It does not block.
func (e *Exchange) RejectToken(token string) {
	if e == nil || token == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.known {
		select {
		case k.turn <- struct{}{}:
			if (k.now.Token == token || k.now.Password == token) && time.Since(k.asked) >= rejectedAfter {
				k.renew = time.Time{}
			}
			<-k.turn
		default: // another one is being asked for
		}
	}
}

// entry returns the one entry of a key. Those that have ended are dropped on the way.
func (e *Exchange) entry(key string) *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	if k := e.known[key]; k != nil {
		return k
	}
	maps.DeleteFunc(e.known, func(_ string, k *entry) bool {
		select {
		case k.turn <- struct{}{}:
			defer func() { <-k.turn }()
			return time.Now().After(k.renew)
		default:
			return false
		}
	})
	k := &entry{turn: make(chan struct{}, 1)}
	if e.known == nil {
		e.known = map[string]*entry{}
	}
	e.known[key] = k
	return k
}

// subject is an identity with what its ServiceAccount says.
type subject struct {
	provider.Identity
	annotations map[string]string
}

// subjectOf reads the ServiceAccount of an identity. It is read each time, so that one that is gone, or has another role, has no credential any more.
func (e *Exchange) subjectOf(ctx context.Context, id identity) (subject, error) {
	if e == nil {
		return subject{Identity: id}, errors.New("this process asks no clouds")
	}
	id = e.WithAccount(id)
	switch {
	case id.Account == "" && e.Foreign:
		return subject{Identity: id}, errors.New("it is the controller's alone, and this process is another one; the identity of a serviceAccountName can be tried here")
	case id.Account == "":
		return subject{Identity: id}, nil
	}
	if e.Accounts == nil {
		return subject{Identity: id}, errors.New("no ServiceAccount can be read")
	}
	all, err := e.Accounts.Annotations(ctx, id.Namespace, id.Account)
	return subject{id, all}, err
}

// WithAccount returns an identity with the account that it has where it names none; without one it is the controller's own.
func (e *Exchange) WithAccount(id identity) identity {
	if id.Account == "" && e != nil && e.Tenants != nil {
		id.Account = e.Tenants.IdentityAccount(id.Namespace)
	}
	return id
}

// key distinguishes subjects, by the annotations that matter too.
func (s subject) key(annotations ...string) []string {
	out := []string{string(s.Cloud), s.Namespace, s.Account, s.TokenService}
	for _, name := range annotations {
		out = append(out, s.annotations[name])
	}
	return out
}

// Registry returns the user and the password of a registry, HOST or HOST:PORT.
func (e *Exchange) Registry(ctx context.Context, id identity, host string) (Credential, error) {
	return askAsIdentity(ctx, e, id, func(s subject) (Credential, error) {
		switch id.Cloud {
		case provider.AWS:
			return e.ecrLogin(ctx, s, host)
		case provider.Azure:
			return e.acrLogin(ctx, s, host)
		case provider.GCP:
			return e.gcrLogin(ctx, s, host)
		case provider.NoCloud:
		}
		return Credential{}, fmt.Errorf("%q is no cloud", id.Cloud)
	})
}

// Git returns what a Git repository is read with: a token, or a user and a password.
func (e *Exchange) Git(ctx context.Context, id identity, url string) (Credential, error) {
	return askAsIdentity(ctx, e, id, func(s subject) (Credential, error) {
		switch id.Cloud {
		case provider.AWS:
			return e.codeCommit(ctx, s, url)
		case provider.Azure:
			return e.devOps(ctx, s, url)
		case provider.GCP, provider.NoCloud:
		}
		return Credential{}, fmt.Errorf("no Git repositories of %s are known", id.Cloud.Name())
	})
}

// askAsIdentity asks a cloud for something in the name of an identity. An error names the identity.
func askAsIdentity[T any](ctx context.Context, e *Exchange, id identity, ask func(subject) (T, error)) (T, error) {
	s, err := e.subjectOf(ctx, id)
	var out T
	if err == nil {
		out, err = ask(s)
	}
	return out, aboutIdentity(ctx, s.Identity, err)
}

// aboutIdentity says of an error whose credentials it is about.
func aboutIdentity(ctx context.Context, id identity, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	reason := source.AuthenticationFailed
	if egress.IsRefused(err) {
		reason = source.HostNotAllowed
	}
	if id.Cloud == provider.NoCloud {
		return transport.Failed(reason, "get a token for the credentials of the Secret: %w", err)
	}
	return transport.Failed(reason, "get credentials for %s: %w", id, err)
}

// isListedHost reports whether a host is one of those, or below one that begins with a dot.
func isListedHost(host string, list ...string) bool {
	host = strings.ToLower(host)
	return slices.ContainsFunc(list, func(known string) bool {
		if strings.HasPrefix(known, ".") {
			return strings.HasSuffix(host, known) && len(host) > len(known)
		}
		return host == known
	})
}
