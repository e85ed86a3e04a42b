// Package impersonate answers: how do requests about an app's objects reach the API server as the app's service account?
//
// In: truce's own connection, and the account of an app.
// Out: a tenancy.Access whose reads and writes impersonate the account, and what the account may not do; that alone also without impersonating it.
// Promise: an account without a namespace or a name is an error, never truce itself; a client for each account is kept and reused.
// Not here: which account an app has (tenancy), the clients of commands (view).
package impersonate

import (
	"fmt"
	"sync"

	"github.com/truce-gitops/truce/internal/apply/ssa"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/model/identity"
)

// Accounts impersonate the service accounts of apps over truce's own connections.
type Accounts struct {
	own     tenancy.Access
	cluster *cluster.Client

	mu    sync.Mutex
	known map[identity.Account]*cluster.Client
}

// mostAccounts bounds how many clients are kept: a client costs little to make.
const mostAccounts = 1000

// NewAccess returns the Accounts of the cluster c. Apps without an account work by own.
func NewAccess(c *cluster.Client, own tenancy.Access) *Accounts {
	return &Accounts{own: own, cluster: c, known: map[identity.Account]*cluster.Client{}}
}

// As implements tenancy.Identities.
func (a *Accounts) As(account identity.Account) (tenancy.Access, error) {
	if account.IsSelf() {
		return a.own, nil
	}
	c, err := a.client(account)
	if err != nil {
		return tenancy.Access{}, err
	}
	return tenancy.Access{Live: list.Reader{Cluster: c}, Writer: ssa.Writer{Cluster: c}, Rights: &rights{cluster: c, account: account, by: asAccount}}, nil
}

func (a *Accounts) client(account identity.Account) (*cluster.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.known[account]; c != nil {
		return c, nil
	}
	if account.Namespace == "" || account.Name == "" {
		return nil, fmt.Errorf("impersonate %q: no service account", account.User())
	}
	c, err := a.cluster.As(account.User(), nil) // the API server adds the groups of a service account
	if err != nil {
		return nil, err
	}
	if len(a.known) >= mostAccounts {
		clear(a.known)
	}
	a.known[account] = c
	return c, nil
}
