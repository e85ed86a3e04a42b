package compose

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/web"
)

// review lets the API server judge bearer tokens: by a TokenReview who it is, by a SubjectAccessReview whether that user may get web.AccessPath.
func review(c *cluster.Client) web.Review {
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
			NonResourceAttributes: &authorization.NonResourceAttributes{Path: web.AccessPath, Verb: "get"},
		}}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("create SubjectAccessReview: %w", err)
		}
		return a.Status.Allowed, nil
	}
}

// Commands log in at the page by a token of the controller's own, which the one that leads keeps in a Secret beside its ConfigMap: who may read
// that Secret sees the page. Not every user of a cluster has a bearer token: many have a client certificate.
const (
	pageSecret = "truce-page"
	keyToken   = "token"
)

// secretKind is what discovery would say of Secrets; every server has them.
var secretKind = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// publishToken writes down the page's token; nothing where there is no page.
func (s *service) publishToken(ctx context.Context) error {
	if s.local == nil {
		return nil
	}
	home := s.options.Namespaces.Home(s.parts.cluster.Namespace())
	_, err := s.parts.cluster.Dynamic().Resource(secretKind).Namespace(home).Apply(ctx, pageSecret, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{keyToken: base64.StdEncoding.EncodeToString([]byte(s.token))},
		"metadata": map[string]any{"name": pageSecret, "namespace": home, "labels": map[string]any{processLabel: "true"}},
	}}, metav1.ApplyOptions{FieldManager: publisher, Force: true})
	if err != nil {
		return fmt.Errorf("apply Secret %s/%s: %w", home, pageSecret, err)
	}
	return nil
}

// pageToken reads the token of the page that a controller has published.
func (c *client) pageToken(ctx context.Context, published object.Object) (string, error) {
	u, err := c.parts.cluster.Dynamic().Resource(secretKind).Namespace(published.Namespace()).Get(ctx, pageSecret, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("log in at the status page: read Secret %s/%s: %w", published.Namespace(), pageSecret, err)
	}
	token, err := base64.StdEncoding.DecodeString(text(u.Object, "data", keyToken))
	if err != nil || len(token) == 0 {
		return "", fmt.Errorf("log in at the status page: Secret %s/%s has no %s", published.Namespace(), pageSecret, keyToken)
	}
	return string(token), nil
}

// isLoopback reports whether only this machine, or this pod, reaches an address.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
