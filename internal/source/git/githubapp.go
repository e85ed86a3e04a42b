package git

import (
	"context"
	"errors"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/githubapp"
	"github.com/truce-gitops/truce/internal/source/transport"
)

const tokenUser = "x-access-token"

// withToken returns the credentials of a trip: those of the source, the token of its GitHub App, or what a cloud gives its identity. The caller has the
// turn.
func (c *clone) withToken(ctx context.Context) (source.Auth, error) {
	auth := c.auth
	switch {
	case auth.Cloud.Cloud != provider.NoCloud:
		return c.withIdentity(ctx)
	case auth.AppID == "":
		return auth, nil
	}
	if !c.token.IsValid() {
		got, err := githubapp.FetchToken(ctx, auth, transport.Options{Servers: c.servers, MachineRoots: true})
		if refused := (*transport.FetchError)(nil); errors.As(err, &refused) {
			return auth, &failure{FetchError: *refused, remote: refused.Reason == source.GitOperationFailed}
		}
		if err != nil {
			return auth, err
		}
		c.token = got
	}
	auth.Username, auth.Password = tokenUser, c.token.Text
	return auth, nil
}

// withIdentity returns the credentials that a cloud gives.
func (c *clone) withIdentity(ctx context.Context) (source.Auth, error) {
	auth := c.auth
	got, err := c.clouds.Git(ctx, auth.Cloud, c.address.String())
	if refused := (*transport.FetchError)(nil); errors.As(err, &refused) {
		return auth, &failure{FetchError: *refused}
	}
	auth.Username, auth.Password, auth.BearerToken = got.User, got.Password, got.Token
	return auth, err
}

// rejectToken has another token asked for at the next trip, where the server has rejected that of this one.
func (c *clone) rejectToken(auth source.Auth, err error) {
	if f := (*failure)(nil); !errors.As(err, &f) || f.Reason != source.AuthenticationFailed {
		return
	}
	c.token = githubapp.Token{}
	c.clouds.RejectToken(auth.BearerToken)
}

// hideToken takes the token out of an error of a trip: the source's own credentials are hidden later, and it is none of them.
func hideToken(a address, auth source.Auth, err error) error {
	var f *failure
	if auth.AppID == "" && auth.Cloud.Cloud == provider.NoCloud || !errors.As(err, &f) {
		return err
	}
	known, short := secretsOf(a, auth), *f
	short.Err = errors.New(known.Line(f.Err.Error(), transport.LongestMessage))
	if f.says != "" {
		short.says = known.Foreign(f.says, transport.LongestSaying)
	}
	return &short
}
