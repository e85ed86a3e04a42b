package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/pattern"
)

// The annotations of a ServiceAccount's identity at Google Cloud.
const (
	googleAnnotation   = "iam.gke.io/gcp-service-account"
	providerAnnotation = "gcp.auth.fluxcd.io/workload-identity-provider"
)

var (
	emailForm    = pattern.OnDemand(`^[A-Za-z0-9-]{1,100}@[A-Za-z0-9-]{1,100}\.iam\.gserviceaccount\.com$`)
	providerForm = pattern.OnDemand(`^projects/[0-9]{1,30}/locations/global/workloadIdentityPools/[A-Za-z0-9-]{1,100}/providers/[A-Za-z0-9-]{1,100}$`)
	nameForm     = pattern.OnDemand(`^[A-Za-z0-9:._-]{1,200}$`)
	// gcrForm are the hosts of registries of Google Cloud.
	gcrForm = pattern.OnDemand(`^((([a-z0-9-]+\.)?gcr\.io)|([a-z0-9-]+-docker\.pkg\.dev)|(docker\.s3nsregistry\.fr))$`)
)

const (
	googleSTS      = "the Security Token Service of Google Cloud"
	googleSTSURL   = "https://sts.googleapis.com/v1/token"
	googleOAuthURL = "https://oauth2.googleapis.com/token"
	googleIAM      = "the IAM API of Google Cloud"
	googleIAMURL   = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
	googleMetadata = "the metadata service of Google Cloud"
	cloudScope     = "https://www.googleapis.com/auth/cloud-platform"
	emailScope     = "https://www.googleapis.com/auth/userinfo.email"
)

// GoogleToken returns a token for the APIs of Google Cloud.
func (e *Exchange) GoogleToken(ctx context.Context, id identity) (string, error) {
	got, err := askAsIdentity(ctx, e, id, func(s subject) (Credential, error) { return e.googleToken(ctx, s) })
	return got.Token, err
}

// GoogleStorage is the URL of the storage of Google Cloud.
func (e *Exchange) GoogleStorage() string {
	const known = "https://storage.googleapis.com"
	if e == nil || e.Environment["STORAGE_EMULATOR_HOST"] == "" {
		return known
	}
	host := strings.TrimSuffix(e.Environment["STORAGE_EMULATOR_HOST"], "/")
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	return host
}

func (e *Exchange) googleToken(ctx context.Context, s subject) (Credential, error) {
	return e.kept(ctx, append(s.key(googleAnnotation, providerAnnotation), "token"), googleToken{s})
}

// gcrLogin returns the login of a registry of Google Cloud.
func (e *Exchange) gcrLogin(ctx context.Context, s subject, host string) (Credential, error) {
	if !gcrForm().MatchString(host) {
		return Credential{}, fmt.Errorf("%.100q is no registry of Google Cloud: want LOCATION-docker.pkg.dev or gcr.io", host)
	}
	got, err := e.googleToken(ctx, s)
	return Credential{User: "oauth2accesstoken", Password: got.Token, Until: got.Until}, err
}

// googleToken is the request for a token.
type googleToken struct{ subject }

func (r googleToken) ask(ctx context.Context, e *Exchange) (Credential, error) {
	if r.Account != "" {
		return r.askForAccount(ctx, e)
	}
	if file := e.Environment["GOOGLE_APPLICATION_CREDENTIALS"]; file != "" {
		return e.credentialFile(ctx, file)
	}
	asked := time.Now()
	data, err := e.metadata(ctx, "instance/service-accounts/default/token?scopes="+url.QueryEscape(cloudScope+","+emailScope))
	if err != nil {
		return Credential{}, err
	}
	return parseToken(googleMetadata, data, asked)
}

// metadata asks the metadata service of Google Cloud.
func (e *Exchange) metadata(ctx context.Context, path string) ([]byte, error) {
	base := metadataHost
	if host := e.Environment["GCE_METADATA_HOST"]; host != "" {
		base = "http://" + host
	}
	return e.sendNear(ctx, call{
		service: googleMetadata, method: http.MethodGet, url: base + "/computeMetadata/v1/" + path, header: map[string]string{"Metadata-Flavor": "Google"},
	})
}

func (r googleToken) askForAccount(ctx context.Context, e *Exchange) (Credential, error) {
	email, provider := r.annotations[googleAnnotation], r.annotations[providerAnnotation]
	switch {
	case email != "" && !emailForm().MatchString(email):
		return Credential{}, fmt.Errorf("its annotation %s is no address of a service account", googleAnnotation)
	case provider != "" && !providerForm().MatchString(provider):
		return Credential{}, fmt.Errorf("its annotation %s is no provider of a workload identity pool", providerAnnotation)
	}
	audience, tokenAudience := "//iam.googleapis.com/"+provider, "//iam.googleapis.com/"+provider
	if provider == "" {
		pool, cluster, err := e.gke(ctx)
		if err != nil {
			return Credential{}, fmt.Errorf("it has no annotation %s, and this is no cluster of GKE: %w", providerAnnotation, err)
		}
		audience, tokenAudience = "identitynamespace:"+pool+":"+cluster, pool
	}
	token, err := e.Accounts.AccountToken(ctx, r.Namespace, r.Account, tokenAudience)
	if err != nil {
		return Credential{}, err
	}
	return e.federated(ctx, audience, token, email)
}

// gke returns the workload identity pool and the provider of the cluster of GKE that the controller runs in.
func (e *Exchange) gke(ctx context.Context) (pool, provider string, err error) {
	var parts [3]string
	for i, path := range []string{"project/project-id", "instance/attributes/cluster-location", "instance/attributes/cluster-name"} {
		data, err := e.metadata(ctx, path)
		if err != nil {
			return "", "", err
		}
		if parts[i] = strings.TrimSpace(string(data)); !nameForm().MatchString(parts[i]) {
			return "", "", errors.New("the answer of " + googleMetadata + " is malformed")
		}
	}
	return parts[0] + ".svc.id.goog", fmt.Sprintf("https://container.googleapis.com/v1/projects/%s/locations/%s/clusters/%s", parts[0], parts[1], parts[2]), nil
}

// federated exchanges a token of a ServiceAccount for one of Google Cloud; of a service account there, where an address is given.
func (e *Exchange) federated(ctx context.Context, audience, token, email string) (Credential, error) {
	asked := time.Now()
	data, err := e.send(ctx, call{
		service: googleSTS, method: http.MethodPost, url: googleSTSURL, header: map[string]string{"Content-Type": formType}, secrets: []string{token},
		body: formBody(url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "audience": {audience}, "scope": {cloudScope + " " + emailScope},
			"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
			"subject_token":        {token}, "subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"},
		}),
	})
	if err != nil {
		return Credential{}, err
	}
	got, err := parseToken(googleSTS, data, asked)
	if err != nil || email == "" {
		return got, err
	}
	return e.impersonated(ctx, got.Token, email)
}

// impersonated exchanges a token for one of a service account.
func (e *Exchange) impersonated(ctx context.Context, token, email string) (Credential, error) {
	body, err := json.Marshal(map[string]any{"scope": []string{cloudScope, emailScope}, "lifetime": "3600s"})
	if err != nil {
		return Credential{}, err
	}
	data, err := e.send(ctx, call{
		service: googleIAM, method: http.MethodPost, url: googleIAMURL + url.PathEscape(email) + ":generateAccessToken", body: body, secrets: []string{token},
		header: map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + token},
	})
	if err != nil {
		return Credential{}, err
	}
	return parseImpersonated(data)
}

func parseImpersonated(data []byte) (Credential, error) {
	var answer struct {
		Token string    `json:"accessToken"`
		Until time.Time `json:"expireTime"`
	}
	if err := decodeAnswer(data, googleIAM, &answer); err != nil {
		return Credential{}, err
	}
	return tokenFrom(googleIAM, answer.Token, answer.Until)
}
