package cloud

import (
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
	"github.com/truce-gitops/truce/internal/source/sigv4"
)

// publicRegistry is Amazon's registry for everybody, which gives credentials in one region.
const (
	publicRegistry = "public.ecr.aws"
	publicRegion   = "us-east-1"
)

// registryForm are the hosts of private registries, of which the first group is the region.
var registryForm = pattern.OnDemand(`^[0-9]{12}\.dkr[.-]ecr(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|sc2s\.sgov\.gov|c2s\.ic\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov|on\.aws)$`)

// ecrLogin returns the login of a registry of Amazon.
func (e *Exchange) ecrLogin(ctx context.Context, s subject, host string) (Credential, error) {
	region := publicRegion
	if host != publicRegistry {
		match := registryForm().FindStringSubmatch(host)
		if match == nil || !regionForm().MatchString(match[1]) {
			return Credential{}, fmt.Errorf("%.100q is no registry of AWS: want ACCOUNT.dkr.ecr.REGION.amazonaws.com or %s", host, publicRegistry)
		}
		region = match[1]
	}
	return e.kept(ctx, append(s.key(roleAnnotation), "ecr", host), ecrLogin{s, host, region})
}

// ecrLogin is the request for a login.
type ecrLogin struct {
	subject
	host, region string
}

func (r ecrLogin) ask(ctx context.Context, e *Exchange) (Credential, error) {
	keys, err := e.awsKeys(ctx, r.subject, r.region)
	if err != nil {
		return Credential{}, err
	}
	c := call{
		service: "ECR", method: http.MethodPost, url: e.endpoint("ECR", "api.ecr", r.region) + "/", body: []byte("{}"),
		header: map[string]string{"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"},
	}
	scope := sigv4.Scope{Service: "ecr", Region: r.region}
	if r.host == publicRegistry {
		c.url, scope.Service = e.endpoint("ECR_PUBLIC", "api.ecr-public", r.region)+"/", "ecr-public"
		c.header["X-Amz-Target"] = "SpencerFrontendService.GetAuthorizationToken"
	}
	data, err := e.sendSigned(ctx, c, keys, scope)
	if err != nil {
		return Credential{}, err
	}
	return parseLogin(data)
}

// sendSigned sends a call to a service of AWS.
func (e *Exchange) sendSigned(ctx context.Context, c call, by Credential, scope sigv4.Scope) ([]byte, error) {
	q, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	by.signingKeys().Sign(q, c.body, scope, time.Now())
	c.secrets = append(c.secrets, by.Password, by.Token)
	return e.sendRequest(q, c)
}

// parseLogin reads an answer of GetAuthorizationToken: a list of one entry, or the entry of the public registry.
func parseLogin(data []byte) (Credential, error) {
	type login struct {
		AuthorizationToken string
		ExpiresAt          float64 // seconds
	}
	var answer struct{ AuthorizationData json.RawMessage }
	if err := decodeAnswer(data, "ECR", &answer); err != nil {
		return Credential{}, err
	}
	var list []login
	if json.Unmarshal(answer.AuthorizationData, &list) != nil {
		list = make([]login, 1)
		if err := decodeAnswer(answer.AuthorizationData, "ECR", &list[0]); err != nil {
			return Credential{}, err
		}
	}
	if len(list) == 0 {
		return Credential{}, errors.New("the answer of ECR holds no token")
	}
	text, err := base64.StdEncoding.DecodeString(list[0].AuthorizationToken)
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || user == "" || password == "" || badText(user+password) || !(list[0].ExpiresAt > 0 && list[0].ExpiresAt < 1e11) {
		return Credential{}, errors.New("the answer of ECR holds no token")
	}
	return Credential{User: user, Password: password, Until: time.Unix(int64(list[0].ExpiresAt), 0)}, nil
}

// commitForm are the hosts of CodeCommit, of which the first group is the region.
var commitForm = pattern.OnDemand(`^git-codecommit(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$`)

// commitLife is how long a signature of CodeCommit holds.
const commitLife = 15 * time.Minute

// codeCommit returns the user and the password of a repository of CodeCommit.
func (e *Exchange) codeCommit(ctx context.Context, s subject, text string) (Credential, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.User != nil {
		return Credential{}, errors.New("spec.url is no https:// URL of CodeCommit")
	}
	match := commitForm().FindStringSubmatch(u.Host)
	if match == nil {
		return Credential{}, fmt.Errorf("%.100q is no host of CodeCommit: want git-codecommit.REGION.amazonaws.com", u.Host)
	}
	keys, err := e.awsKeys(ctx, s, match[1])
	if err != nil {
		return Credential{}, err
	}
	now := time.Now()
	user, password := keys.signingKeys().GitPassword(u.Host, u.EscapedPath(), sigv4.Scope{Service: "codecommit", Region: match[1]}, now)
	return Credential{User: user, Password: password, Until: now.Add(commitLife)}, nil
}
