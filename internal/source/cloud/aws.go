package cloud

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/pattern"
	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source/sigv4"
)

// The annotation and the audience of a ServiceAccount's identity at AWS.
const (
	roleAnnotation = "eks.amazonaws.com/role-arn"
	stsAudience    = "sts.amazonaws.com"
)

var roleForm = pattern.OnDemand(`^arn:aws[a-z-]{0,20}:iam::[0-9]{1,30}:role/[\x21-\x7e]{1,512}$`)

// suffixes are the domains of AWS by the first part of a region, where it is not amazonaws.com.
var suffixes = []struct{ prefix, suffix string }{
	{"cn-", "amazonaws.com.cn"}, {"us-iso-", "c2s.ic.gov"}, {"us-isob-", "sc2s.sgov.gov"}, {"us-isof-", "csp.hci.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"}, {"eusc-", "amazonaws.eu"},
}

// endpoint is the URL of a service in a region; variable is the ending of the SDK's variable that has another one.
func (e *Exchange) endpoint(variable, name, region string) string {
	if text := cmp.Or(e.Environment["AWS_ENDPOINT_URL_"+variable], e.Environment["AWS_ENDPOINT_URL"]); text != "" {
		return strings.TrimSuffix(text, "/")
	}
	suffix := "amazonaws.com"
	for _, s := range suffixes {
		if strings.HasPrefix(region, s.prefix) {
			suffix = s.suffix
		}
	}
	return "https://" + name + "." + region + "." + suffix
}

// signingKeys are credentials as they sign.
func (c Credential) signingKeys() sigv4.Credentials {
	return sigv4.Credentials{Key: c.User, Secret: c.Password, Token: c.Token}
}

// AWS returns keys that sign requests in a region; empty where it is not known.
func (e *Exchange) AWS(ctx context.Context, id identity, region string) (sigv4.Credentials, error) {
	got, err := askAsIdentity(ctx, e, id, func(s subject) (Credential, error) { return e.awsKeys(ctx, s, region) })
	if err != nil {
		return sigv4.Credentials{}, err
	}
	return got.signingKeys(), nil
}

func (e *Exchange) awsKeys(ctx context.Context, s subject, region string) (Credential, error) {
	region = cmp.Or(region, e.Environment["AWS_REGION"], e.Environment["AWS_DEFAULT_REGION"])
	if region != "" && !regionForm().MatchString(region) {
		return Credential{}, fmt.Errorf("%.64q is no region", region)
	}
	if s.TokenService != "" && !provider.IsTokenService(s.TokenService) {
		return Credential{}, errors.New("spec.sts.endpoint is no address of Amazon's Security Token Service")
	}
	return e.kept(ctx, append(s.key(roleAnnotation), "keys", region), awsKeys{s, region})
}

// awsKeys is the request for keys.
type awsKeys struct {
	subject
	region string
}

func (r awsKeys) ask(ctx context.Context, e *Exchange) (Credential, error) {
	if r.Account != "" {
		return r.askForAccount(ctx, e)
	}
	env := e.Environment
	switch {
	case env["AWS_ROLE_ARN"] != "" && env["AWS_WEB_IDENTITY_TOKEN_FILE"] != "":
		token, err := readToken(env["AWS_WEB_IDENTITY_TOKEN_FILE"])
		if err != nil {
			return Credential{}, fmt.Errorf("AWS_WEB_IDENTITY_TOKEN_FILE: %w", err)
		}
		return r.assumeRole(ctx, e, env["AWS_ROLE_ARN"], cmp.Or(env["AWS_ROLE_SESSION_NAME"], "truce"), token)
	case env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] != "" || env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] != "":
		return e.containerKeys(ctx)
	case env["AWS_ACCESS_KEY_ID"] != "" && env["AWS_SECRET_ACCESS_KEY"] != "":
		return Credential{User: env["AWS_ACCESS_KEY_ID"], Password: env["AWS_SECRET_ACCESS_KEY"], Token: env["AWS_SESSION_TOKEN"]}, nil
	case env["AWS_EC2_METADATA_DISABLED"] == "true":
		return Credential{}, errors.New("the controller's pod has no identity at AWS")
	}
	return e.instanceKeys(ctx)
}

func (r awsKeys) askForAccount(ctx context.Context, e *Exchange) (Credential, error) {
	role := r.annotations[roleAnnotation]
	switch {
	case role == "":
		return Credential{}, fmt.Errorf("it lacks the annotation %s", roleAnnotation)
	case !roleForm().MatchString(role):
		return Credential{}, fmt.Errorf("its annotation %s is no ARN of a role", roleAnnotation)
	case r.region == "":
		return Credential{}, errors.New("the region is not known; name it in spec.region")
	}
	token, err := e.Accounts.AccountToken(ctx, r.Namespace, r.Account, stsAudience)
	if err != nil {
		return Credential{}, err
	}
	return r.assumeRole(ctx, e, role, sessionName(r.Account+"."+r.Namespace+"."+r.region+".fluxcd.io"), token)
}

// sessionName cuts a name to what STS takes. The names are Flux's, which policies of a role may ask for.
func sessionName(text string) string { return text[:min(len(text), 64)] }

// assumeRole exchanges a token for keys. The request bears no signature: the token is the credential.
func (r awsKeys) assumeRole(ctx context.Context, e *Exchange, role, session, token string) (Credential, error) {
	if r.region == "" {
		return Credential{}, errors.New("the region is not known: AWS_REGION is not set")
	}
	const service = "the Security Token Service of AWS"
	data, err := e.send(ctx, call{
		service: service, method: http.MethodPost, url: cmp.Or(strings.TrimSuffix(r.TokenService, "/"), e.endpoint("STS", "sts", r.region)) + "/",
		header: map[string]string{"Content-Type": formType, "Accept": "application/xml"}, secrets: []string{token},
		body: formBody(url.Values{
			"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role}, "RoleSessionName": {session}, "WebIdentityToken": {token},
		}),
	})
	if err != nil {
		return Credential{}, err
	}
	return parseRole(data)
}

// parseRole reads an answer of AssumeRoleWithWebIdentity.
func parseRole(data []byte) (Credential, error) {
	var document struct {
		XMLName xml.Name `xml:"AssumeRoleWithWebIdentityResponse"`
		Result  struct {
			Credentials keyDocument
		} `xml:"AssumeRoleWithWebIdentityResult"`
	}
	if xml.Unmarshal(data, &document) != nil {
		return Credential{}, errors.New("the answer of STS cannot be read")
	}
	return document.Result.Credentials.credential("STS")
}

// keyDocument is what AWS's services answer with.
type keyDocument struct {
	AccessKeyID     string `json:"AccessKeyId" xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string // of STS
	Token           string // of the other services
	Expiration      time.Time
}

func (d keyDocument) credential(service string) (Credential, error) {
	token := d.SessionToken + d.Token
	if d.AccessKeyID == "" || d.SecretAccessKey == "" || token == "" || d.Expiration.IsZero() || badText(d.AccessKeyID+d.SecretAccessKey+token) {
		return Credential{}, fmt.Errorf("the answer of %s holds no credentials", service)
	}
	return Credential{User: d.AccessKeyID, Password: d.SecretAccessKey, Token: token, Until: d.Expiration}, nil
}

// containerHost is where ECS gives credentials to its containers.
const containerHost = "http://169.254.170.2"

// containerKeys asks the agent of EKS pod identities, or of ECS.
func (e *Exchange) containerKeys(ctx context.Context) (Credential, error) {
	env := e.Environment
	at := cmp.Or(env["AWS_CONTAINER_CREDENTIALS_FULL_URI"], containerHost+env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"])
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !isLocalHost(u.Hostname())) {
		return Credential{}, errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor an address of this machine or its link")
	}
	token := env["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
	if file := env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]; file != "" {
		if token, err = readToken(file); err != nil {
			return Credential{}, fmt.Errorf("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: %w", err)
		}
	}
	header := map[string]string{}
	if token != "" {
		header["Authorization"] = token
	}
	data, err := e.sendNear(ctx, call{service: "the agent of pod identities", method: http.MethodGet, url: at, header: header, secrets: []string{token}})
	if err != nil {
		return Credential{}, err
	}
	return parseKeys("the agent of pod identities", data)
}

// parseKeys reads the document of a container's or an instance's credentials.
func parseKeys(service string, data []byte) (Credential, error) {
	var document keyDocument
	if err := decodeAnswer(data, service, &document); err != nil {
		return Credential{}, err
	}
	return document.credential(service)
}

var roleNameForm = pattern.OnDemand(`^[\w+=,.@-]{1,128}$`)

// instanceKeys asks the metadata service of an instance, in its version 2.
func (e *Exchange) instanceKeys(ctx context.Context) (Credential, error) {
	const service = "the metadata service of the instance"
	base := strings.TrimSuffix(cmp.Or(e.Environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"], metadataHost), "/") + "/latest/"
	session, err := e.sendNear(ctx, call{
		service: service, method: http.MethodPut, url: base + "api/token", header: map[string]string{"X-aws-ec2-metadata-token-ttl-seconds": "300"},
	})
	if err != nil {
		return Credential{}, err
	}
	list := call{
		service: service, method: http.MethodGet, url: base + "meta-data/iam/security-credentials/",
		header: map[string]string{"X-aws-ec2-metadata-token": strings.TrimSpace(string(session))}, secrets: []string{string(session)},
	}
	names, err := e.sendNear(ctx, list)
	if err != nil {
		return Credential{}, err
	}
	role, _, _ := strings.Cut(strings.TrimSpace(string(names)), "\n")
	if !roleNameForm().MatchString(role) {
		return Credential{}, errors.New("the instance has no role")
	}
	list.url += role
	data, err := e.sendNear(ctx, list)
	if err != nil {
		return Credential{}, err
	}
	return parseKeys(service, data)
}
