// Package impersonate answers: how do requests about an app's objects reach the API server as the app's service account?
//
// In: truce's own connection, and the account of an app.
// Out: a tenancy.Access whose reads and writes impersonate the account, and what the account may not do.
// Promise: an account without a namespace or a name is an error, never truce itself; a client for each account is kept and reused.
// Not here: which account an app has (tenancy), the clients of commands (view).
package impersonate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/truce-gitops/truce/internal/apply/ssa"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
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
	return tenancy.Access{Live: list.Reader{Cluster: c}, Writer: ssa.Writer{Cluster: c}, Rights: &rights{cluster: c, user: account.User()}}, nil
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

// rights asks the API server what an account may do. It remembers what may be done to all objects of a kind in a namespace.
type rights struct {
	cluster *cluster.Client
	user    string

	mu  sync.Mutex
	may map[authorization.ResourceAttributes]bool
}

// Refused implements tenancy.Rights.
func (r *rights) Refused(ctx context.Context, gvk object.GVK, id object.ID) (string, error) {
	res, err := r.cluster.Resource(gvk)
	if errors.Is(err, cluster.ErrUnknownKind) {
		return "", fmt.Errorf("%w: %s", live.ErrUnknownKind, gvk)
	}
	if err != nil {
		return "", err
	}
	all := authorization.ResourceAttributes{Verb: "patch", Group: gvk.Group, Version: gvk.Version, Resource: res.GVR.Resource, Namespace: id.Namespace}
	one := all
	one.Name = id.Name
	for _, what := range []authorization.ResourceAttributes{all, one} {
		if may, err := r.allowed(ctx, what); may || err != nil {
			return "", err
		}
	}
	where := "at the cluster scope"
	if id.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", id.Namespace)
	}
	return fmt.Sprintf("User %q cannot patch resource %q in API group %q %s: not applied", r.user, res.GVR.Resource, gvk.Group, where), nil
}

func (r *rights) allowed(ctx context.Context, what authorization.ResourceAttributes) (bool, error) {
	r.mu.Lock()
	may, known := r.may[what]
	r.mu.Unlock()
	if known {
		return may, nil
	}
	reviews, err := authorizationclient.NewForConfig(r.cluster.Config())
	if err != nil {
		return false, err
	}
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
	done, err := reviews.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("create SelfSubjectAccessReview: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.may == nil {
		r.may = map[authorization.ResourceAttributes]bool{}
	}
	r.may[what] = done.Status.Allowed
	return done.Status.Allowed, nil
}
