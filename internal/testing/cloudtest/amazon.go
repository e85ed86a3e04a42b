package cloudtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/testing/s3test"
)

// Keys are those that AWS gives.
var keys = s3test.Keys{Access: "ASIAEXAMPLEOFATEST", Secret: "secret-key-of-a-cloud", Token: "session-token-of-a-cloud"}

// Keys returns the keys that AWS gives to every identity.
func (c *Clouds) Keys() s3test.Keys { return keys }

// RegistryPassword is what ECR gives to the user AWS, until the credentials are revoked.
const RegistryPassword = "password-of-a-registry-of-a-cloud"

// amazon answers for STS, ECR and EKS.
func (c *Clouds) amazon(w http.ResponseWriter, q *http.Request, host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch parts := strings.Split(host, "."); {
	case parts[0] == "sts":
		c.sts(w, q)
	case strings.HasPrefix(host, "api.ecr.") && c.isSigned(w, q, "ecr", parts[2]) && strings.HasSuffix(q.Header.Get("X-Amz-Target"), "_V20150921.GetAuthorizationToken"):
		answer(w, http.StatusOK, map[string]any{"authorizationData": []any{c.login()}})
	case strings.HasPrefix(host, "api.ecr-public.") && c.isSigned(w, q, "ecr-public", parts[2]) && q.Header.Get("X-Amz-Target") == "SpencerFrontendService.GetAuthorizationToken":
		answer(w, http.StatusOK, map[string]any{"authorizationData": c.login()})
	case parts[0] == "eks" && c.isSigned(w, q, "eks", parts[1]):
		answer(w, http.StatusOK, map[string]any{"cluster": c.cluster(strings.TrimPrefix(q.URL.Path, "/clusters/"))})
	}
}

func (c *Clouds) registryPassword() string {
	return RegistryPassword + strings.Repeat("-again", c.revoked)
}

func (c *Clouds) login() map[string]any {
	return map[string]any{
		"authorizationToken": base64.StdEncoding.EncodeToString([]byte("AWS:" + c.registryPassword())), "expiresAt": float64(time.Now().Add(c.life).UnixMilli()) / 1000,
	}
}

func (c *Clouds) cluster(name string) map[string]any {
	return map[string]any{"endpoint": "https://" + name + ".example", "certificateAuthority": map[string]any{"data": base64.StdEncoding.EncodeToString([]byte(c.CA))}}
}

// isSigned checks the signature of a request, and that its body is the one that was signed.
func (c *Clouds) isSigned(w http.ResponseWriter, q *http.Request, service, region string) bool {
	body, err := io.ReadAll(q.Body)
	sum := sha256.Sum256(body)
	fault := s3test.SignatureFault(q, keys, service, region)
	if fault == "" && err == nil && q.Header.Get("X-Amz-Content-Sha256") == hex.EncodeToString(sum[:]) {
		return true
	}
	answer(w, http.StatusBadRequest, map[string]any{"__type": "InvalidSignatureException", "message": fault})
	return false
}

// sts exchanges tokens for keys.
func (c *Clouds) sts(w http.ResponseWriter, q *http.Request) {
	if q.ParseForm() != nil || q.Form.Get("Action") != "AssumeRoleWithWebIdentity" || q.Form.Get("Version") != "2011-06-15" || len(q.Form.Get("RoleSessionName")) < 2 ||
		len(q.Form.Get("RoleSessionName")) > 64 || q.Header.Get("Authorization") != "" || !c.holds(q.Form.Get("WebIdentityToken"), q.Form.Get("RoleArn"), "sts.amazonaws.com") {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>Not authorized to perform sts:AssumeRoleWithWebIdentity with %s</Message></Error></ErrorResponse>`, q.Form.Get("WebIdentityToken"))
		return
	}
	_, _ = fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, keys.Access, keys.Secret, keys.Token, time.Now().Add(c.life).UTC().Format(time.RFC3339))
}

func (c *Clouds) keysAnswer() map[string]any {
	return map[string]any{
		"Code": "Success", "AccessKeyId": keys.Access, "SecretAccessKey": keys.Secret, "Token": keys.Token, "Expiration": time.Now().Add(c.life).UTC().Format(time.RFC3339),
	}
}

// PresignedFault says what is wrong with the token of a cluster of EKS; empty for nothing. It computes the signature by itself.
func PresignedFault(token, cluster, region string) string {
	text, ok := strings.CutPrefix(token, "k8s-aws-v1.")
	data, err := base64.RawURLEncoding.DecodeString(text)
	u, bad := url.Parse(string(data))
	if !ok || err != nil || bad != nil || u.Host != "sts."+region+".amazonaws.com" || u.Query().Get("Action") != "GetCallerIdentity" {
		return "it is no URL of STS"
	}
	query, signature, _ := strings.Cut(u.RawQuery, "&X-Amz-Signature=")
	at := u.Query().Get("X-Amz-Date")
	if u.Query().Get("X-Amz-SignedHeaders") != "host;x-k8s-aws-id" || u.Query().Get("X-Amz-Security-Token") != keys.Token || len(at) != 16 {
		return "it is signed for something else"
	}
	request := "GET\n/\n" + query + "\nhost:" + u.Host + "\nx-k8s-aws-id:" + cluster + "\n\nhost;x-k8s-aws-id\n" + hash("")
	scope := at[:8] + "/" + region + "/sts/aws4_request"
	if s3test.Signature(keys.Secret, scope, "AWS4-HMAC-SHA256\n"+at+"\n"+scope+"\n"+hash(request)) != signature {
		return "its signature is wrong"
	}
	return ""
}

// CommitFault says what is wrong with a user and a password for a path of CodeCommit in eu-west-1; empty for nothing.
func CommitFault(user, password, path string) string {
	const host, region = "git-codecommit.eu-west-1.amazonaws.com", "eu-west-1"
	at, signature, ok := strings.Cut(password, "Z")
	if user != keys.Access+"%"+keys.Token || !ok || len(at) != 15 {
		return "they are of another form"
	}
	scope := at[:8] + "/" + region + "/codecommit/aws4_request"
	if s3test.Signature(keys.Secret, scope, "AWS4-HMAC-SHA256\n"+at+"\n"+scope+"\n"+hash("GIT\n"+path+"\n\nhost:"+host+"\n\nhost\n")) != signature {
		return "the signature is wrong"
	}
	return ""
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
