package deliver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/githubapp"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// mostTokens bounds the tokens in memory; with one more, all are forgotten.
const mostTokens = 1000

// appKey stands for the credentials of a GitHub App.
type appKey [sha256.Size]byte

// withApp sets the token of a target that writes to GitHub to that of the GitHub App whose credentials the Provider's Secret holds, and reports whether
// it has any.
func (d *Deliverer) withApp(ctx context.Context, p Loaded, t *payload.Target) (bool, error) {
	if !slices.Contains([]string{"github", "githubdispatch", "githubpullrequestcomment", payload.ArgoService + "github"}, t.Type) || t.Token != "" || keyOfAny(p.SecretData, "githubAppID") == "" {
		return false, nil
	}
	var auth source.Auth
	if lack := auth.ReadApp(p.SecretData); lack != "" {
		return true, errors.New("Secret " + p.Key.Namespace + "/" + p.Secret + ": " + lack)
	}
	var err error
	if auth.Proxy, err = proxyOf(p); err != nil {
		return true, err
	}
	auth.AppCABundle = cmp.Or(auth.AppCABundle, keyOfAny(p.CertificateData, "ca.crt", "caFile"))
	t.Token, err = d.appToken(ctx, auth)
	return true, err
}

func (d *Deliverer) appToken(ctx context.Context, auth source.Auth) (string, error) {
	key := keyOfApp(auth)
	d.mu.Lock()
	token := d.tokens[key]
	d.mu.Unlock()
	if token.IsValid() {
		return token.Text, nil
	}
	token, err := githubapp.FetchToken(ctx, auth, transport.Options{Servers: d.Servers})
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tokens == nil || len(d.tokens) >= mostTokens {
		d.tokens = map[appKey]githubapp.Token{}
	}
	d.tokens[key] = token
	return token.Text, nil
}

func keyOfApp(a source.Auth) appKey {
	return sha256.Sum256([]byte(a.AppID + "\n" + a.AppInstallation + "\n" + a.AppOwner + "\n" + a.AppURL + "\n" + a.AppKey))
}

// forgetApp drops the token of a Provider's GitHub App: the server has refused it.
func (d *Deliverer) forgetApp(p Loaded) {
	var auth source.Auth
	_ = auth.ReadApp(p.SecretData) // it was read before
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.tokens, keyOfApp(auth))
}
