package web

import (
	"context"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"

	"github.com/truce-gitops/truce/internal/cluster"
)

// ReviewTokens lets the API server judge bearer tokens: by a TokenReview who it is, by a SubjectAccessReview whether that user may get AccessPath.
func ReviewTokens(c *cluster.Client) Review {
	return func(ctx context.Context, token string) (bool, error) {
		var who authentication.TokenReviewStatus
		err := c.Review(ctx, authentication.SchemeGroupVersion.WithKind("TokenReview"), &authentication.TokenReviewSpec{Token: token}, &who)
		if err != nil || !who.Authenticated {
			return false, err
		}
		extra := map[string]authorization.ExtraValue{}
		for k, v := range who.User.Extra {
			extra[k] = authorization.ExtraValue(v)
		}
		var may authorization.SubjectAccessReviewStatus
		err = c.Review(ctx, authorization.SchemeGroupVersion.WithKind("SubjectAccessReview"), &authorization.SubjectAccessReviewSpec{
			User: who.User.Username, UID: who.User.UID, Groups: who.User.Groups, Extra: extra,
			NonResourceAttributes: &authorization.NonResourceAttributes{Path: AccessPath, Verb: "get"},
		}, &may)
		return may.Allowed, err
	}
}
