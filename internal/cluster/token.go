package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	authentication "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/truce-gitops/truce/internal/model/identity"
)

// TokenError says why there is no token of a service account. It does not unwrap to what the API server said: that is about another request than the one
// that needs the token.
type TokenError struct {
	Account identity.Account
	Cause   string
}

// Error implements error.
func (e *TokenError) Error() string {
	if e.Account.IsSelf() {
		return "no token of the controller's own service account: " + e.Cause
	}
	return fmt.Sprintf("no token of ServiceAccount %s/%s: %s", e.Account.Namespace, e.Account.Name, e.Cause)
}

// tokenLife is how long a token is asked for; the server may shorten it. tokenPart of its life is used, and one that was rejected is replaced, if it is
// older than tokenRest.
const (
	tokenLife = time.Hour
	tokenPart = 0.8
	tokenRest = 10 * time.Second
)

// accountTokens are tokens of one service account for some audiences; of the client's own one where the account is the zero value. It may be used concurrently.
type accountTokens struct {
	home      *Client
	account   identity.Account
	audiences []string

	turn    chan struct{} // holds a value unless the fields below are in use
	token   string
	issued  time.Time
	renew   time.Time // when another one is asked for
	expires time.Time
}

func newAccountTokens(home *Client, account identity.Account, audiences []string) *accountTokens {
	t := &accountTokens{home: home, account: account, audiences: audiences, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	return t
}

// Token returns a token that has not expired. It asks the API server for one when the former has little time left; if that fails, the former is used
// until it expires.
func (t *accountTokens) Token(ctx context.Context) (string, error) {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { t.turn <- struct{}{} }()
	now := time.Now()
	if now.Before(t.renew) {
		return t.token, nil
	}
	err := t.request(ctx, now)
	if err != nil && now.Before(t.expires) {
		t.renew = now.Add(tokenRest)
		return t.token, nil
	}
	return t.token, err
}

// Reject has another token asked for, unless the rejected one is so new that another one would fare no better.
func (t *accountTokens) Reject(token string) {
	select {
	case <-t.turn:
	default: // another one is being asked for
		return
	}
	defer func() { t.turn <- struct{}{} }()
	if token == t.token && time.Since(t.issued) >= tokenRest {
		t.renew, t.expires = time.Time{}, time.Time{}
	}
}

// request asks for a token. The caller has the turn.
func (t *accountTokens) request(ctx context.Context, now time.Time) error {
	of, err := t.whose(ctx)
	if err != nil {
		return err
	}
	token, expires, err := t.home.requestToken(ctx, of, t.audiences)
	if refused := (*TokenError)(nil); errors.As(err, &refused) {
		return &TokenError{t.account, refused.Cause}
	}
	if err != nil {
		return err
	}
	if t.account.IsSelf() {
		if err := t.refuseHome(ctx, token); err != nil {
			return err
		}
	}
	t.token, t.issued, t.expires = token, now, expires
	t.renew = now.Add(time.Duration(tokenPart * float64(expires.Sub(now))))
	return nil
}

// requestToken asks the API server for a token of a service account. What it refuses is a *TokenError.
func (c *Client) requestToken(ctx context.Context, of identity.Account, audiences []string) (token string, expires time.Time, err error) {
	list := make([]any, 0, len(audiences))
	for _, a := range audiences {
		list = append(list, a)
	}
	answer, err := c.accounts(of.Namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": authentication.SchemeGroupVersion.String(), "kind": "TokenRequest", "metadata": map[string]any{"name": of.Name},
		"spec": map[string]any{"audiences": list, "expirationSeconds": int64(tokenLife / time.Second)},
	}}, metav1.CreateOptions{}, "token")
	switch {
	case ctx.Err() != nil:
		return "", expires, ctx.Err()
	case IsAbsent(err, of.Name):
		return "", expires, &TokenError{of, "it is not there"}
	case apierrors.IsForbidden(err):
		return "", expires, &TokenError{of, "the right to create serviceaccounts/token is missing: " + err.Error()}
	case err != nil:
		return "", expires, &TokenError{of, err.Error()}
	}
	token, _, _ = unstructured.NestedString(answer.Object, "status", "token")
	until, _, _ := unstructured.NestedString(answer.Object, "status", "expirationTimestamp")
	expires, err = time.Parse(time.RFC3339, until)
	if token == "" || err != nil {
		return "", expires, &TokenError{of, "the API server's answer holds none"}
	}
	return token, expires, nil
}

func (c *Client) accounts(namespace string) dynamic.ResourceInterface {
	return c.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(namespace)
}

// AccountToken returns a token of a service account for an audience, for one exchange.
func (c *Client) AccountToken(ctx context.Context, namespace, name, audience string) (string, error) {
	token, _, err := c.requestToken(ctx, identity.Account{Namespace: namespace, Name: name}, []string{audience})
	return token, err
}

// Annotations returns the annotations of a service account.
func (c *Client) Annotations(ctx context.Context, namespace, name string) (map[string]string, error) {
	u, err := c.accounts(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case IsAbsent(err, name):
		return nil, errors.New("it is not there")
	case err != nil:
		return nil, err
	}
	return u.GetAnnotations(), nil
}

// authorizing sends requests with a token.
type authorizing struct {
	next   http.RoundTripper
	tokens tokenSource
}

// RoundTrip implements http.RoundTripper.
func (a authorizing) RoundTrip(q *http.Request) (*http.Response, error) {
	token, err := a.tokens.Token(q.Context())
	if err != nil {
		if q.Body != nil {
			err = errors.Join(err, q.Body.Close())
		}
		return nil, err
	}
	q = q.Clone(q.Context())
	q.Header.Set("Authorization", "Bearer "+token)
	answer, err := a.next.RoundTrip(q)
	if err == nil && answer.StatusCode == http.StatusUnauthorized {
		a.tokens.Reject(token)
	}
	return answer, err
}

// WrappedRoundTripper returns the transport below, for client-go.
func (a authorizing) WrappedRoundTripper() http.RoundTripper { return a.next }

// whose returns the service account whose tokens these are.
func (t *accountTokens) whose(ctx context.Context) (identity.Account, error) {
	if !t.account.IsSelf() {
		return t.account, nil
	}
	user, err := t.review(ctx, "SelfSubjectReview", "selfsubjectreviews", nil)
	if err != nil {
		return identity.Account{}, err
	}
	name, _, _ := unstructured.NestedString(user, "userInfo", "username")
	account, ok := identity.AccountOf(name)
	if !ok {
		return identity.Account{}, &TokenError{t.account, "it works as another user; name a service account of the app's namespace"}
	}
	return account, nil
}

// refuseHome returns an error for a token of the controller's own account that this cluster's API server takes too: the author of a ConfigMap chooses
// the audiences and the address, and would have the controller's rights.
func (t *accountTokens) refuseHome(ctx context.Context, token string) error {
	review, err := t.review(ctx, "TokenReview", "tokenreviews", map[string]any{"token": token})
	if err != nil {
		return err
	}
	if yes, _, _ := unstructured.NestedBool(review, "authenticated"); yes {
		return &TokenError{t.account, "with these audiences it would be a credential for this cluster; choose others"}
	}
	return nil
}

// review returns the status of a review.
func (t *accountTokens) review(ctx context.Context, kind, resource string, spec map[string]any) (map[string]any, error) {
	ask := map[string]any{"apiVersion": authentication.SchemeGroupVersion.String(), "kind": kind}
	if spec != nil {
		ask["spec"] = spec
	}
	answer, err := t.home.Dynamic().Resource(authentication.SchemeGroupVersion.WithResource(resource)).Create(ctx, &unstructured.Unstructured{Object: ask}, metav1.CreateOptions{})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &TokenError{t.account, err.Error()}
	}
	status, _, _ := unstructured.NestedMap(answer.Object, "status")
	return status, nil
}
