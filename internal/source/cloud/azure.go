package cloud

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/pattern"
)

// The annotations and the audience of a ServiceAccount's identity at Azure.
const (
	clientAnnotation = "azure.workload.identity/client-id"
	tenantAnnotation = "azure.workload.identity/tenant-id"
	azureAudience    = "api://AzureADTokenExchange"
)

// The scopes of tokens, one for each service.
const (
	registryScope = "https://containerregistry.azure.net/.default"
	devOpsScope   = "499b84ac-1321-427f-aa17-267ca6975798/.default"
	storageScope  = "https://storage.azure.com/.default"
)

const (
	entra          = "Microsoft Entra ID"
	entraHost      = "https://login.microsoftonline.com"
	assertionType  = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	metadataHost   = "http://169.254.169.254"
	registryUser   = "00000000-0000-0000-0000-000000000000" // whose password is the token of a registry
	registryMargin = 10 * time.Minute
)

// idForm is what may be a client or a tenant: a GUID, or the name of a tenant.
var idForm = pattern.OnDemand(`^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$`)

// azureToken returns a token for a scope.
func (e *Exchange) azureToken(ctx context.Context, s subject, scope string) (Credential, error) {
	return e.kept(ctx, append(s.key(clientAnnotation, tenantAnnotation), "token", scope), azureToken{s, scope})
}

// authority is the Entra ID of the cloud that truce runs in.
func (e *Exchange) authority() string {
	return strings.TrimSuffix(cmp.Or(e.Environment["AZURE_AUTHORITY_HOST"], entraHost), "/")
}

// azureToken is the request for a token.
type azureToken struct {
	subject
	scope string
}

func (r azureToken) ask(ctx context.Context, e *Exchange) (Credential, error) {
	env := e.Environment
	authority := e.authority()
	if r.Account != "" {
		return r.askForAccount(ctx, e, authority)
	}
	client, tenant := env["AZURE_CLIENT_ID"], env["AZURE_TENANT_ID"]
	switch {
	case client != "" && tenant != "" && env["AZURE_CLIENT_SECRET"] != "":
		return principalToken{ServicePrincipal{Tenant: tenant, Client: client, Secret: env["AZURE_CLIENT_SECRET"], Authority: authority}, r.scope}.ask(ctx, e)
	case client != "" && tenant != "" && env["AZURE_FEDERATED_TOKEN_FILE"] != "":
		token, err := readToken(env["AZURE_FEDERATED_TOKEN_FILE"])
		if err != nil {
			return Credential{}, fmt.Errorf("AZURE_FEDERATED_TOKEN_FILE: %w", err)
		}
		return e.assertedToken(ctx, ServicePrincipal{Tenant: tenant, Client: client, Authority: authority}, token, r.scope)
	}
	return e.managedToken(ctx, client, r.scope)
}

func (r azureToken) askForAccount(ctx context.Context, e *Exchange, authority string) (Credential, error) {
	client, tenant := r.annotations[clientAnnotation], r.annotations[tenantAnnotation]
	for _, a := range []struct{ name, value string }{{tenantAnnotation, tenant}, {clientAnnotation, client}} {
		if a.value == "" {
			return Credential{}, fmt.Errorf("it lacks the annotation %s", a.name)
		}
		if !idForm().MatchString(a.value) {
			return Credential{}, fmt.Errorf("its annotation %s is no ID", a.name)
		}
	}
	token, err := e.Accounts.AccountToken(ctx, r.Namespace, r.Account, azureAudience)
	if err != nil {
		return Credential{}, err
	}
	return e.assertedToken(ctx, ServicePrincipal{Tenant: tenant, Client: client, Authority: authority}, token, r.scope)
}

// assertedToken exchanges a token of a ServiceAccount for one of its application.
func (e *Exchange) assertedToken(ctx context.Context, p ServicePrincipal, token, scope string) (Credential, error) {
	return e.entraToken(ctx, p, token, url.Values{
		"client_id": {p.Client}, "scope": {scope}, "grant_type": {"client_credentials"},
		"client_assertion_type": {assertionType}, "client_assertion": {token},
	})
}

func (e *Exchange) entraToken(ctx context.Context, p ServicePrincipal, secret string, values url.Values) (Credential, error) {
	if !idForm().MatchString(p.Tenant) {
		return Credential{}, errors.New("the tenant is no ID")
	}
	asked := time.Now()
	data, err := e.send(ctx, call{
		service: entra, method: http.MethodPost, url: p.Authority + "/" + p.Tenant + "/oauth2/v2.0/token",
		header: map[string]string{"Content-Type": formType}, body: formBody(values), secrets: []string{secret},
	})
	if err != nil {
		return Credential{}, err
	}
	return parseToken(entra, data, asked)
}

// parseToken reads an answer of OAuth 2, as Azure and Google Cloud give it.
func parseToken(service string, data []byte, asked time.Time) (Credential, error) {
	var answer struct {
		Token   string          `json:"access_token"`
		Expires json.RawMessage `json:"expires_in"`
	}
	if err := decodeAnswer(data, service, &answer); err != nil {
		return Credential{}, err
	}
	return tokenFrom(service, answer.Token, lifetimeEnd(asked, answer.Expires))
}

// managedToken asks the metadata service for a token of the machine's identity, or of the one with a client ID.
func (e *Exchange) managedToken(ctx context.Context, client, scope string) (Credential, error) {
	const service = "the metadata service of Azure"
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {strings.TrimSuffix(scope, "/.default")}}
	if client != "" {
		query.Set("client_id", client)
	}
	asked := time.Now()
	data, err := e.sendNear(ctx, call{
		service: service, method: http.MethodGet, header: map[string]string{"Metadata": "true"},
		url: strings.TrimSuffix(cmp.Or(e.Environment["AZURE_POD_IDENTITY_AUTHORITY_HOST"], metadataHost), "/") + "/metadata/identity/oauth2/token?" + query.Encode(),
	})
	if err != nil {
		return Credential{}, err
	}
	return parseToken(service, data, asked)
}

// acrForm are the hosts of registries of Azure.
var acrForm = pattern.OnDemand(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\.azurecr\.(io|cn|de|us)$`)

// acrLogin returns the login of a registry of Azure.
func (e *Exchange) acrLogin(ctx context.Context, s subject, host string) (Credential, error) {
	if !acrForm().MatchString(host) {
		return Credential{}, fmt.Errorf("%.100q is no registry of Azure: want NAME.azurecr.io", host)
	}
	return e.kept(ctx, append(s.key(clientAnnotation, tenantAnnotation), "acr", host), acrLogin{s, host})
}

// acrLogin is the request for a login.
type acrLogin struct {
	subject
	host string
}

func (r acrLogin) ask(ctx context.Context, e *Exchange) (Credential, error) {
	token, err := e.azureToken(ctx, r.subject, registryScope)
	if err != nil {
		return Credential{}, err
	}
	const service = "the registry"
	asked := time.Now()
	data, err := e.send(ctx, call{
		service: service, method: http.MethodPost, url: "https://" + r.host + "/oauth2/exchange", header: map[string]string{"Content-Type": formType},
		body:    formBody(url.Values{"grant_type": {"access_token"}, "service": {r.host}, "access_token": {token.Token}}),
		secrets: []string{token.Token},
	})
	if err != nil {
		return Credential{}, err
	}
	var answer struct {
		Token string `json:"refresh_token"`
	}
	if err := decodeAnswer(data, service, &answer); err != nil {
		return Credential{}, err
	}
	got, err := tokenFrom(service, answer.Token, expiryOf(answer.Token, asked))
	return Credential{User: registryUser, Password: got.Token, Until: got.Until}, err
}

// expiryOf reads the end of a JSON web token, which is not verified: it is sent back to whom it came from. A token without one is taken for short.
func expiryOf(token string, asked time.Time) time.Time {
	_, rest, _ := strings.Cut(token, ".")
	middle, _, _ := strings.Cut(rest, ".")
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(middle, "="))
	var claims struct {
		End float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(data, &claims) != nil || !(claims.End > 0 && claims.End < 1e11) {
		return asked.Add(registryMargin)
	}
	return time.Unix(int64(claims.End), 0)
}

// devOps returns the token of a repository of Azure DevOps.
func (e *Exchange) devOps(ctx context.Context, s subject, text string) (Credential, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || !isListedHost(u.Host, "dev.azure.com", ".visualstudio.com") {
		return Credential{}, errors.New("the address is no https:// URL of Azure DevOps: want dev.azure.com or ORGANIZATION.visualstudio.com")
	}
	return e.azureToken(ctx, s, devOpsScope)
}

// blobHosts are the domains of Azure's storage.
var blobHosts = []string{".blob.core.windows.net", ".blob.core.chinacloudapi.cn", ".blob.core.usgovcloudapi.net", ".blob.storage.azure.net"}

// BlobToken returns the token of a storage of Azure, by its host.
func (e *Exchange) BlobToken(ctx context.Context, id identity, host string) (string, error) {
	if !isListedHost(host, blobHosts...) {
		return "", aboutIdentity(ctx, id, fmt.Errorf("%.100q is no storage of Azure: want ACCOUNT.blob.core.windows.net", host))
	}
	got, err := askAsIdentity(ctx, e, id, func(s subject) (Credential, error) { return e.azureToken(ctx, s, storageScope) })
	return got.Token, err
}
