package cluster

import (
	"context"
	"fmt"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// User returns the name by which the API server knows the client.
func (c *Client) User(ctx context.Context) (string, error) {
	var who authentication.SelfSubjectReviewStatus
	err := c.Review(ctx, authentication.SchemeGroupVersion.WithKind("SelfSubjectReview"), nil, &who)
	return who.UserInfo.Username, err
}

// Review has the API server judge what spec asks, a pointer to the spec of a review of that kind, such as a SubjectAccessReview, or nil for none. It fills
// status, a pointer to the kind's. The request takes the connections of all others.
func (c *Client) Review(ctx context.Context, kind schema.GroupVersionKind, spec, status any) error {
	ask := map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind}
	if spec != nil {
		asked, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
		if err != nil {
			return fmt.Errorf("create %s: %w", kind.Kind, err)
		}
		ask["spec"] = asked
	}
	reviews := c.Dynamic().Resource(kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s"))
	answer, err := reviews.Create(ctx, &unstructured.Unstructured{Object: ask}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create %s: %w", kind.Kind, err)
	}
	given, _, err := unstructured.NestedMap(answer.Object, "status")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(given, status)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", kind.Kind, err)
	}
	return nil
}
