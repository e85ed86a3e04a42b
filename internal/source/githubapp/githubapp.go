// Package githubapp answers: which token does a GitHub App get for one of its installations?
//
// In: the App, its installation and key (source.Auth); which servers may be reached.
// Out: a Token with its end; an error that says whether the key, the App or the way to the server is at fault.
// Promise: one request, and one or two before it to find an installation by its owner, to the API that the credentials name and to no other by redirect;
// no credential is in an error.
// Not here: when a token is replaced, and what it is used for (git, report/notify/deliver).
package githubapp

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

const (
	margin     = 5 * time.Minute // before its end a token is replaced
	claimTime  = 9 * time.Minute // GitHub takes claims of ten minutes at most
	mostAnswer = 64 << 10
)

// Token is what an App got for one installation. Its zero value is one that has ended.
type Token struct {
	Text  string
	Until time.Time
}

// IsValid reports whether the token can be used for some minutes.
func (t Token) IsValid() bool { return time.Until(t.Until) >= margin }

// FetchToken exchanges the key of an App for a token; of way are used which servers may be reached, and which roots are trusted beside AppCABundle. The server is verified, also where that of the
// repository is not (Insecure): a claim is as good as the key for some minutes. What the server, or the way to it, is at fault for is a *transport.FetchError with the reason
// GitOperationFailed, and what the credentials are, one with another reason.
func FetchToken(ctx context.Context, auth source.Auth, way transport.Options) (Token, error) {
	claim, err := signClaim(auth.AppID, auth.AppKey, time.Now())
	if err != nil {
		return Token{}, fetchError(source.AuthenticationFailed, "GitHub App: %w", err)
	}
	way.Auth, way.Proxy = source.Auth{CABundle: auth.AppCABundle}, auth.Proxy
	client, err := transport.NewClient(way)
	if err != nil {
		return Token{}, fetchError(source.AuthenticationFailed, "GitHub App: %w", err)
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a := api{client: client, base: strings.TrimSuffix(auth.AppURL, "/"), claim: claim}
	installation := auth.AppInstallation
	if auth.AppOwner != "" {
		if installation, err = a.findInstallation(ctx, auth); err != nil {
			return Token{}, err
		}
	}
	return a.createToken(ctx, auth, installation)
}

// api is GitHub's, as seen by an App.
type api struct {
	client      *http.Client
	base, claim string
}

// findInstallation returns the number of the installation of an owner. GitHub has a path for organizations, and one for users.
func (a api) findInstallation(ctx context.Context, auth source.Auth) (string, error) {
	var status response
	for _, kind := range []string{"orgs", "users"} {
		var got struct {
			ID int64 `json:"id"`
		}
		var err error
		if status, err = a.ask(ctx, http.MethodGet, "/"+kind+"/"+auth.AppOwner+"/installation", &got); err != nil {
			return "", err
		}
		switch {
		case status.code == http.StatusOK && got.ID > 0:
			return strconv.FormatInt(got.ID, 10), nil
		case status.code == http.StatusOK:
			return "", fetchError(source.GitOperationFailed, "%s answered without the installation of the GitHub App", status.host)
		case status.code != http.StatusNotFound:
			return "", fetchError(source.AuthenticationFailed, "%s does not name the installation of the GitHub App %s for %s: %s", status.host, auth.AppID, auth.AppOwner, status.text)
		}
	}
	return "", fetchError(source.AuthenticationFailed, "%s has no installation of the GitHub App %s for %s: install the App there, or correct githubAppInstallationOwner",
		status.host, auth.AppID, auth.AppOwner)
}

// createToken makes a token for an installation.
func (a api) createToken(ctx context.Context, auth source.Auth, installation string) (Token, error) {
	var got struct {
		Token  string    `json:"token"`
		Expiry time.Time `json:"expires_at"`
	}
	status, err := a.ask(ctx, http.MethodPost, "/app/installations/"+installation+"/access_tokens", &got)
	switch {
	case err != nil:
		return Token{}, err
	case status.code != http.StatusCreated:
		return Token{}, fetchError(source.AuthenticationFailed, "%s gives no token for the GitHub App %s and its installation %s: %s", status.host, auth.AppID, installation, status.text)
	case got.Token == "":
		return Token{}, fetchError(source.GitOperationFailed, "%s answered without a token for the GitHub App", status.host)
	}
	return Token{got.Token, got.Expiry}, nil
}

// response is what came of a request: the status, and the server for messages.
type response struct {
	host, text string
	code       int
}

// ask sends a request as the App, and reads the answer into out. An answer that is no JSON leaves out as it is.
func (a api) ask(ctx context.Context, method, path string, out any) (response, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, http.NoBody)
	if err != nil {
		return response{}, fetchError(source.URLInvalid, "GitHub App: the base URL is malformed")
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("Authorization", "Bearer "+a.claim)
	answer, err := a.client.Do(req)
	if err != nil {
		return response{}, fetchError(source.GitOperationFailed, "ask %s for a token of the GitHub App: %w", req.URL.Host, errors.Unwrap(err))
	}
	defer func() { _ = answer.Body.Close() }()                               // it was read
	_ = json.NewDecoder(io.LimitReader(answer.Body, mostAnswer)).Decode(out) // the caller finds nothing in it
	return response{host: req.URL.Host, text: answer.Status[:min(len(answer.Status), 60)], code: answer.StatusCode}, nil
}

func fetchError(reason source.Reason, format string, args ...any) error {
	return &transport.FetchError{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// signClaim makes the JSON web token by which an App says who it is.
func signClaim(id, key string, now time.Time) (string, error) {
	return SignToken(nil, map[string]any{"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(claimTime).Unix(), "iss": id}, key)
}

// SignToken makes a JSON web token (RFC 7519, RS256) of claims, with further fields of its header, by an RSA key in PEM form.
func SignToken(more map[string]any, claims map[string]any, key string) (string, error) {
	private, err := parseAppKey(key)
	if err != nil {
		return "", err
	}
	header := map[string]any{"alg": "RS256", "typ": "JWT"}
	maps.Copy(header, more)
	head, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode(head) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign with its key: %w", err)
	}
	return text + "." + encode(signature), nil
}

var errAppKey = errors.New("its private key cannot be read: want an RSA key in PEM form")

func parseAppKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errAppKey
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if key, ok := parsed.(*rsa.PrivateKey); ok && err == nil {
		return key, nil
	}
	return nil, errAppKey
}
