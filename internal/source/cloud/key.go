package cloud

import (
	"context"
	"crypto/sha1" //nolint:gosec // the thumbprint of a certificate, as Microsoft Entra ID names it
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source/githubapp"
)

// googleFile is what Google's files of credentials hold: the key of a service account, or where a token is found that is exchanged.
type googleFile struct {
	Type          string `json:"type"`
	Email         string `json:"client_email"`
	Key           string `json:"private_key"`
	KeyID         string `json:"private_key_id"`
	Audience      string `json:"audience"`
	Impersonation string `json:"service_account_impersonation_url"`
	Source        struct {
		File string `json:"file"`
	} `json:"credential_source"`
}

// credentialFile exchanges what the file of GOOGLE_APPLICATION_CREDENTIALS holds. The addresses in it are not used, but the documented ones.
func (e *Exchange) credentialFile(ctx context.Context, name string) (Credential, error) {
	text, err := readToken(name)
	if err != nil {
		return Credential{}, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %w", err)
	}
	var file googleFile
	if json.Unmarshal([]byte(text), &file) != nil {
		return Credential{}, errors.New("the file of GOOGLE_APPLICATION_CREDENTIALS cannot be read")
	}
	if file.Type != "external_account" || file.Source.File == "" {
		return googleKey{text}.ask(ctx, e)
	}
	token, err := readToken(file.Source.File)
	if err != nil {
		return Credential{}, fmt.Errorf("the token file of GOOGLE_APPLICATION_CREDENTIALS: %w", err)
	}
	email := ""
	if file.Impersonation != "" {
		email = file.Impersonation[strings.LastIndex(file.Impersonation, "/")+1:]
		if email = strings.TrimSuffix(email, ":generateAccessToken"); !emailForm().MatchString(email) {
			return Credential{}, errors.New("the service account in the file of GOOGLE_APPLICATION_CREDENTIALS is malformed")
		}
	}
	return e.federated(ctx, file.Audience, token, email)
}

// GoogleKeyToken returns a token for the key of a service account in JSON, as the Secret of a Bucket holds it.
func (e *Exchange) GoogleKeyToken(ctx context.Context, key string) (string, error) {
	sum := sha256.Sum256([]byte(key))
	got, err := e.kept(ctx, []string{"google key", hex.EncodeToString(sum[:])}, googleKey{key})
	return got.Token, aboutSecret(ctx, err)
}

// aboutSecret says that a credential in a Secret has failed.
func aboutSecret(ctx context.Context, err error) error {
	return aboutIdentity(ctx, provider.Identity{}, err)
}

// googleKey is the request for a token by the key of a service account.
type googleKey struct{ text string }

const jwtGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

func (r googleKey) ask(ctx context.Context, e *Exchange) (Credential, error) {
	var file googleFile
	if json.Unmarshal([]byte(r.text), &file) != nil || file.Type != "service_account" || file.Email == "" || file.Key == "" {
		return Credential{}, errors.New("it is no key of a service account: want JSON with the type service_account, client_email and private_key")
	}
	now := time.Now()
	assertion, err := githubapp.SignToken(map[string]any{"kid": file.KeyID}, map[string]any{
		"iss": file.Email, "scope": cloudScope, "aud": googleOAuthURL, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}, file.Key)
	if err != nil {
		return Credential{}, err
	}
	const service = "the OAuth service of Google"
	data, err := e.send(ctx, call{
		service: service, method: http.MethodPost, url: googleOAuthURL, header: map[string]string{"Content-Type": formType},
		body: formBody(url.Values{"grant_type": {jwtGrant}, "assertion": {assertion}}), secrets: []string{assertion},
	})
	if err != nil {
		return Credential{}, err
	}
	return parseToken(service, data, now)
}

// ServicePrincipal is an application of Microsoft Entra ID, with what a Secret holds for it: a secret, or a certificate with its key in PEM form.
type ServicePrincipal struct {
	Tenant, Client, Secret, Certificate string
	Authority                           string // the URL of the cloud's Entra ID; empty for the public one
	Chain                               string // "true" to send the certificate
}

// authorities are the hosts of Microsoft Entra ID in its clouds.
var authorities = []string{"login.microsoftonline.com", "login.chinacloudapi.cn", "login.partner.microsoftonline.cn", "login.microsoftonline.us"}

// PrincipalToken returns a token for the storages of Azure.
func (e *Exchange) PrincipalToken(ctx context.Context, p ServicePrincipal) (string, error) {
	if u, err := url.Parse(p.Authority); p.Authority != "" && (err != nil || u.Scheme != "https" || !isListedHost(u.Host, authorities...) || strings.Trim(u.Path, "/") != "") {
		return "", aboutSecret(ctx, errors.New("authorityHost is no address of Microsoft Entra ID"))
	}
	if p.Authority = strings.TrimSuffix(p.Authority, "/"); p.Authority == "" {
		p.Authority = entraHost
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{p.Tenant, p.Client, p.Secret, p.Certificate, p.Authority, p.Chain}))
	got, err := e.kept(ctx, []string{"principal", hex.EncodeToString(sum[:])}, principalToken{p, storageScope})
	return got.Token, aboutSecret(ctx, err)
}

// principalToken is the request for a token of a service principal.
type principalToken struct {
	ServicePrincipal
	scope string
}

func (r principalToken) ask(ctx context.Context, e *Exchange) (Credential, error) {
	values := url.Values{"client_id": {r.Client}, "scope": {r.scope}, "grant_type": {"client_credentials"}}
	secret := r.Secret
	if r.Certificate == "" {
		values.Set("client_secret", r.Secret)
	} else {
		assertion, err := r.assertion(time.Now())
		if err != nil {
			return Credential{}, err
		}
		secret = assertion
		values.Set("client_assertion_type", assertionType)
		values.Set("client_assertion", assertion)
	}
	return e.entraToken(ctx, r.ServicePrincipal, secret, values)
}

// assertion signs who the application is by the key of its certificate.
func (r principalToken) assertion(now time.Time) (string, error) {
	key, cert := "", []byte(nil)
	for block, rest := pem.Decode([]byte(r.Certificate)); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case block.Type == "CERTIFICATE" && cert == nil:
			cert = block.Bytes
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			key = string(pem.EncodeToMemory(block))
		}
	}
	if key == "" || cert == nil {
		return "", errors.New("clientCertificate holds no certificate with its key in PEM form")
	}
	sum := sha1.Sum(cert) //nolint:gosec // see above
	header := map[string]any{"x5t": base64.RawURLEncoding.EncodeToString(sum[:])}
	if r.Chain == "1" || strings.EqualFold(r.Chain, "true") {
		header["x5c"] = []string{base64.StdEncoding.EncodeToString(cert)}
	}
	id := sha256.Sum256(fmt.Appendf(nil, "%s %d", r.Client, now.UnixNano()))
	return githubapp.SignToken(header, map[string]any{
		"aud": r.Authority + "/" + r.Tenant + "/oauth2/v2.0/token", "iss": r.Client, "sub": r.Client, "jti": hex.EncodeToString(id[:16]),
		"nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(9 * time.Minute).Unix(),
	}, key)
}

// ManagedToken returns a token for the storages of Azure of an identity of this machine with a client ID, for a source of a namespace.
func (e *Exchange) ManagedToken(ctx context.Context, namespace, client string) (string, error) {
	switch {
	case !idForm().MatchString(client):
		return "", aboutSecret(ctx, errors.New("clientId is no ID"))
	case e.Tenants != nil && e.Tenants.IdentityAccount(namespace) != "":
		return "", aboutSecret(ctx, errors.New("clientId alone names an identity of the machine, which is not for tenants; use spec.serviceAccountName"))
	}
	got, err := e.kept(ctx, []string{"managed", client}, managedToken{client, storageScope})
	return got.Token, aboutSecret(ctx, err)
}

// managedToken is the request for a token of a machine's identity.
type managedToken struct{ client, scope string }

func (r managedToken) ask(ctx context.Context, e *Exchange) (Credential, error) {
	return e.managedToken(ctx, r.client, r.scope)
}
