package impersonate

import (
	"context"
	"fmt"
	"sync"

	authorization "k8s.io/api/authorization/v1"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
)

// reviewing says who asks what an account may do.
type reviewing string

const (
	asAccount    reviewing = "as the account"
	aboutAccount reviewing = "about the account" // the client is another user's
)

// rights asks the API server what an account may do. It remembers what may be done to all objects of a kind in a namespace.
type rights struct {
	cluster *cluster.Client
	account identity.Account
	by      reviewing

	mu  sync.Mutex
	may map[authorization.ResourceAttributes]bool
}

// RightsOf returns the rights of an account, without impersonating it: the user of the client asks for them. It is false where that user may
// not ask.
func RightsOf(ctx context.Context, c *cluster.Client, account identity.Account) (tenancy.Rights, bool, error) {
	ask := &rights{cluster: c, account: account, by: asAccount}
	may, err := ask.allowed(ctx, authorization.ResourceAttributes{Verb: "create", Group: authorization.GroupName, Resource: "subjectaccessreviews"})
	return &rights{cluster: c, account: account, by: aboutAccount}, may, err
}

// Refused implements tenancy.Rights.
func (r *rights) Refused(ctx context.Context, verb string, gvk object.GVK, id object.ID) (string, error) {
	res, err := r.cluster.Resource(gvk)
	if err != nil {
		return "", err
	}
	all := authorization.ResourceAttributes{Verb: verb, Group: gvk.Group, Version: gvk.Version, Resource: res.GVR.Resource, Namespace: id.Namespace}
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
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", r.account.User(), verb, res.GVR.Resource, gvk.Group, where), nil
}

func (r *rights) allowed(ctx context.Context, what authorization.ResourceAttributes) (bool, error) {
	r.mu.Lock()
	may, known := r.may[what]
	r.mu.Unlock()
	if known {
		return may, nil
	}
	may, err := r.review(ctx, what)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.may == nil {
		r.may = map[authorization.ResourceAttributes]bool{}
	}
	r.may[what] = may
	return may, nil
}

// review asks the API server.
func (r *rights) review(ctx context.Context, what authorization.ResourceAttributes) (bool, error) {
	var status authorization.SubjectAccessReviewStatus
	var err error
	if r.by == asAccount {
		err = r.cluster.Review(ctx, authorization.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), &authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}, &status)
	} else {
		spec := &authorization.SubjectAccessReviewSpec{ResourceAttributes: &what, User: r.account.User(), Groups: r.account.Groups()}
		err = r.cluster.Review(ctx, authorization.SchemeGroupVersion.WithKind("SubjectAccessReview"), spec, &status)
	}
	return status.Allowed, err
}
