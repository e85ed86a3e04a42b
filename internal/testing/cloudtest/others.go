package cloudtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The identities that need no token of a ServiceAccount.
const (
	MachineClient = "00000000-1111-2222-3333-444444444444" // a managed identity of Azure
	Tenant        = "99999999-8888-7777-6666-555555555555"
	ClientSecret  = "secret-of-a-service-principal"
	TokenOfPod    = "token-of-the-pod-for-its-agent"
)

// The scopes of tokens of Google Cloud.
const (
	GoogleMachine = "google: the machine"
	GoogleAccount = "google: a service account"
	GoogleDirect  = "google: a federated identity"
)

// metadata answers as the metadata services do, and the agent of pod identities.
func (c *Clouds) metadata(w http.ResponseWriter, q *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const security = "/latest/meta-data/iam/security-credentials/"
	path, lasts := q.URL.Path, strconv.Itoa(int(c.life.Seconds()))
	inGoogle := q.Header.Get("Metadata-Flavor") == "Google" && strings.HasPrefix(path, "/computeMetadata/v1/")
	inAmazon := q.Header.Get("X-aws-ec2-metadata-token") == "session"
	switch {
	case path == "/latest/api/token" && q.Method == http.MethodPut && q.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
		_, _ = w.Write([]byte("session"))
	case path == security && inAmazon:
		_, _ = w.Write([]byte("role-of-a-node"))
	case path == security+"role-of-a-node" && inAmazon, path == "/v1/credentials" && q.Header.Get("Authorization") == TokenOfPod:
		answer(w, http.StatusOK, c.keysAnswer())
	case path == "/metadata/identity/oauth2/token" && q.Header.Get("Metadata") == "true" && q.URL.Query().Get("api-version") != "":
		if client := q.URL.Query().Get("client_id"); client != "" && client != MachineClient {
			refuse(w, "Identity not found")
			return
		}
		answer(w, http.StatusOK, map[string]any{"access_token": c.give(q.URL.Query().Get("resource")), "expires_in": lasts})
	case path == "/computeMetadata/v1/instance/service-accounts/default/token" && inGoogle:
		answer(w, http.StatusOK, map[string]any{"access_token": c.give(GoogleMachine), "expires_in": int(c.life.Seconds()), "token_type": "Bearer"})
	case inGoogle:
		_, _ = w.Write([]byte(map[string]string{"project/project-id": "acme", "instance/attributes/cluster-location": "europe-west1", "instance/attributes/cluster-name": "prod"}[strings.TrimPrefix(path, "/computeMetadata/v1/")]))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// entra answers as Microsoft Entra ID does.
func (c *Clouds) entra(w http.ResponseWriter, q *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	client := q.FormValue("client_id")
	asserted := q.FormValue("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" && c.holds(q.FormValue("client_assertion"), client, "api://AzureADTokenExchange")
	if q.URL.Path != "/"+Tenant+"/oauth2/v2.0/token" || q.FormValue("grant_type") != "client_credentials" || !asserted && q.FormValue("client_secret") != ClientSecret {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "AADSTS70025: The client has no configured federated identity for " + q.FormValue("client_assertion")})
		return
	}
	answer(w, http.StatusOK, map[string]any{"access_token": c.give(strings.TrimSuffix(q.FormValue("scope"), "/.default")), "expires_in": int(c.life.Seconds())})
}

// acr exchanges a token of Entra ID for one of a registry.
func (c *Clouds) acr(w http.ResponseWriter, q *http.Request, host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.FormValue("grant_type") != "access_token" || q.FormValue("service") != host || c.given[q.FormValue("access_token")] != "https://containerregistry.azure.net" {
		answer(w, http.StatusUnauthorized, map[string]any{"errors": []any{map[string]any{"code": "UNAUTHORIZED", "message": "authentication required"}}})
		return
	}
	claims := fmt.Sprintf(`{"exp":%d}`, time.Now().Add(c.life).Unix())
	answer(w, http.StatusOK, map[string]any{"refresh_token": RegistryToken(claims)})
}

// RegistryToken is what a registry of Azure gives, with these claims.
func RegistryToken(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".cmVnaXN0cnk"
}

// arm describes a cluster of AKS, to a token for the resource manager itself.
func (c *Clouds) arm(w http.ResponseWriter, q *http.Request, manager string) {
	switch path := q.URL.Path; {
	case c.Bearer(q) != manager || q.URL.Query().Get("api-version") == "":
		refuse(w, "AuthorizationFailed")
	case strings.HasSuffix(path, "/listClusterUserCredential") && q.Method == http.MethodPost:
		text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {exec: {command: kubelogin, apiVersion: v1}}}]\nclusters: [{name: c, cluster: {server: 'https://aks.example:443', certificate-authority-data: %s}}]\n", base64.StdEncoding.EncodeToString([]byte(c.CA)))
		answer(w, http.StatusOK, map[string]any{"kubeconfigs": []any{map[string]any{"name": "clusterUser", "value": base64.StdEncoding.EncodeToString([]byte(text))}}})
	default:
		answer(w, http.StatusOK, map[string]any{"properties": map[string]any{"aadProfile": map[string]any{"managed": true}}})
	}
}

// google answers for the APIs of Google Cloud.
func (c *Clouds) google(w http.ResponseWriter, q *http.Request, host string) {
	scope := c.Bearer(q)
	c.mu.Lock()
	defer c.mu.Unlock()
	seconds := int(c.life.Seconds())
	switch {
	case host == "sts.googleapis.com" && q.FormValue("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange":
		audience, tokenAudience := q.FormValue("audience"), q.FormValue("audience")
		if pool, ok := strings.CutPrefix(audience, "identitynamespace:acme.svc.id.goog:"); ok && pool == "https://container.googleapis.com/v1/projects/acme/locations/europe-west1/clusters/prod" {
			tokenAudience = "acme.svc.id.goog"
		}
		if !c.holds(q.FormValue("subject_token"), audience, tokenAudience) || q.FormValue("subject_token_type") != "urn:ietf:params:oauth:token-type:jwt" {
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "The audience in ID Token does not match " + q.FormValue("subject_token")})
			return
		}
		answer(w, http.StatusOK, map[string]any{"access_token": c.give(GoogleDirect), "expires_in": seconds})
	case host == "iamcredentials.googleapis.com" && scope == GoogleDirect && c.roles[strings.TrimSuffix(q.URL.Path[strings.LastIndex(q.URL.Path, "/")+1:], ":generateAccessToken")] != "":
		answer(w, http.StatusOK, map[string]any{"accessToken": c.give(GoogleAccount), "expireTime": time.Now().Add(c.life).UTC().Format(time.RFC3339)})
	case host == "container.googleapis.com" && strings.HasPrefix(scope, "google: "):
		answer(w, http.StatusOK, map[string]any{"endpoint": "203.0.113.7", "masterAuth": map[string]any{"clusterCaCertificate": base64.StdEncoding.EncodeToString([]byte(c.CA))}})
	case host == "oauth2.googleapis.com" && q.FormValue("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" && claimsOf(q.FormValue("assertion"))["aud"] == "https://oauth2.googleapis.com/token":
		answer(w, http.StatusOK, map[string]any{"access_token": c.give(GoogleAccount), "expires_in": seconds})
	default:
		answer(w, http.StatusForbidden, map[string]any{"error": map[string]any{"message": "Permission denied", "status": "PERMISSION_DENIED"}})
	}
}

// IsSignedBy reports whether a JSON web token is signed by a key (RS256).
func IsSignedBy(token string, key *rsa.PublicKey) bool {
	at := strings.LastIndexByte(token, '.')
	if at < 0 {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	sum := sha256.Sum256([]byte(token[:at]))
	return err == nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
}
