package web

import (
	"context"
	"fmt"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/truce-gitops/truce/internal/cluster"
)

// ReviewTokens lets the API server judge bearer tokens: by a TokenReview who it is, by a SubjectAccessReview whether that user may get AccessPath.
func ReviewTokens(c *cluster.Client) Review {
	return func(ctx context.Context, token string) (bool, error) {
		who, err := authenticationclient.NewForConfig(c.Config())
		if err != nil {
			return false, fmt.Errorf("review tokens: %w", err)
		}
		may, err := authorizationclient.NewForConfig(c.Config())
		if err != nil {
			return false, fmt.Errorf("review tokens: %w", err)
		}
		t, err := who.TokenReviews().Create(ctx, &authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("create TokenReview: %w", err)
		}
		if !t.Status.Authenticated {
			return false, nil
		}
		extra := map[string]authorization.ExtraValue{}
		for k, v := range t.Status.User.Extra {
			extra[k] = authorization.ExtraValue(v)
		}
		a, err := may.SubjectAccessReviews().Create(ctx, &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
			User: t.Status.User.Username, UID: t.Status.User.UID, Groups: t.Status.User.Groups, Extra: extra,
			NonResourceAttributes: &authorization.NonResourceAttributes{Path: AccessPath, Verb: "get"},
		}}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("create SubjectAccessReview: %w", err)
		}
		return a.Status.Allowed, nil
	}
}
