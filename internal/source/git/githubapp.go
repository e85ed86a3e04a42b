package git

import (
	"context"
	"errors"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/githubapp"
	"github.com/truce-gitops/truce/internal/source/transport"
)

const tokenUser = "x-access-token"

// withToken returns the credentials of a trip: those of the source, or the token of its GitHub App. The caller has the turn.
func (c *clone) withToken(ctx context.Context) (source.Auth, error) {
	auth := c.auth
	if auth.AppID == "" {
		return auth, nil
	}
	if !c.token.IsValid() {
		got, err := githubapp.FetchToken(ctx, auth, c.servers)
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

// hideToken takes the token out of an error of a trip: the source's own credentials are hidden later, and it is none of them.
func hideToken(a address, auth source.Auth, err error) error {
	var f *failure
	if auth.AppID == "" || !errors.As(err, &f) {
		return err
	}
	known, short := secretsOf(a, auth), *f
	short.Err = errors.New(known.Line(f.Err.Error(), transport.LongestMessage))
	if f.says != "" {
		short.says = known.Foreign(f.says, transport.LongestSaying)
	}
	return &short
}
