package bucket

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// authorize adds credentials to a request to a storage of Azure.
func (b blob) authorize(ctx context.Context, q *http.Request) (bool, error) {
	q.Header.Set("X-Ms-Version", blobVersion)
	switch b.spec.Bucket.Login {
	case provider.SharedAccess:
		return true, nil
	case provider.AccountKey:
		return true, b.sign(q, time.Now())
	case provider.NoLogin, provider.GoogleKey, provider.Principal, provider.CertifiedClient, provider.ManagedClient: // by a token
	}
	token, err := b.token(ctx)
	if err != nil && b.spec.Auth.Cloud.IsOwn() { // the bucket may be public: the error is reported if it is not
		return false, err
	}
	q.Header.Set("Authorization", "Bearer "+token)
	return true, err
}

func (b blob) token(ctx context.Context) (string, error) {
	a, in := b.spec.Auth, b.spec.Bucket
	principal := cloud.ServicePrincipal{Tenant: in.Tenant, Client: a.Username, Authority: in.Authority, Chain: in.Chain}
	switch in.Login {
	case provider.ManagedClient:
		return b.clouds.ManagedToken(ctx, a.Cloud.Namespace, a.Username)
	case provider.Principal:
		principal.Secret = a.Password
		return b.clouds.PrincipalToken(ctx, principal)
	case provider.CertifiedClient:
		principal.Certificate = a.Password
		return b.clouds.PrincipalToken(ctx, principal)
	case provider.NoLogin, provider.GoogleKey, provider.AccountKey, provider.SharedAccess: // the identity, or no token at all
	}
	if b.at.Scheme != "https" {
		return "", transport.Failed(source.AuthenticationFailed, "the credentials of %s are not sent without TLS", a.Cloud)
	}
	return b.clouds.BlobToken(ctx, a.Cloud, b.at.Host)
}

// sign adds a signature by the key of an account (Shared Key), whose name is the first part of the host.
func (b blob) sign(q *http.Request, at time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(b.spec.Auth.Password))
	account, rest, _ := strings.Cut(b.at.Hostname(), ".")
	if err != nil || len(key) == 0 || !strings.Contains(rest, ".") {
		return transport.Failed(source.AuthenticationFailed, "accountKey of Secret %s is no key in base64, or the endpoint does not begin with the name of an account", b.spec.Auth.Secret)
	}
	q.Header.Set("X-Ms-Date", at.UTC().Format(http.TimeFormat))
	sum := hmac.New(sha256.New, key)
	_, _ = sum.Write([]byte(sharedKeyText(q, account))) // a hash takes all
	q.Header.Set("Authorization", "SharedKey "+account+":"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	return nil
}

// sharedKeyText is what a GET request without a body is signed for.
func sharedKeyText(q *http.Request, account string) string {
	var headers, resource []string
	for name, values := range q.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			headers = append(headers, name+":"+strings.Join(values, ","))
		}
	}
	for name, values := range q.URL.Query() {
		slices.Sort(values)
		resource = append(resource, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	slices.Sort(headers)
	slices.Sort(resource)
	// Content-Encoding, -Language, -Length, -MD5 and -Type, Date, If-Modified-Since, If-Match, If-None-Match, If-Unmodified-Since, Range
	lines := []string{q.Method, "", "", "", "", "", "", "", "", q.Header.Get(ifNoneMatch), "", ""}
	lines = append(append(lines, headers...), strings.Join(append([]string{"/" + account + q.URL.EscapedPath()}, resource...), "\n"))
	return strings.Join(lines, "\n")
}
