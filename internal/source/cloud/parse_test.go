package cloud

import (
	"strings"
	"testing"
	"time"
)

// FuzzAnswers reads any bytes as an answer of each service: what is taken for a credential has the form of one.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		`{"access_token":"t","expires_in":"3599"}`, `{"access_token":"t","expires_in":1e300}`, `{"accessToken":"t","expireTime":"2026-01-02T03:04:05Z"}`,
		`{"authorizationData":[{"authorizationToken":"QVdTOnB3","expiresAt":1.6e9}]}`, `{"authorizationData":{"authorizationToken":"QVdTOnB3","expiresAt":1600000000}}`,
		`{"AccessKeyId":"a","SecretAccessKey":"b","Token":"c","Expiration":"2026-01-02T03:04:05Z"}`, `{"error":{"message":"m","status":"s"}}`, `{"__type":"x","message":"y"}`,
		`<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken><Expiration>2026-01-02T03:04:05Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
		`<ErrorResponse><Error><Code>c</Code><Message>m</Message></Error></ErrorResponse>`, "a.eyJleHAiOjE2MDAwMDAwMDB9.b",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		now := time.Now()
		token, err := parseToken("x", data, now)
		checkCredential(t, token, err)
		if err == nil && (token.Until.Before(now) || token.Until.After(now.Add(longestLife))) {
			t.Errorf("it holds until %s", token.Until)
		}
		for _, parse := range []func([]byte) (Credential, error){parseLogin, parseRole, parseImpersonated} {
			got, err := parse(data)
			checkCredential(t, got, err)
		}
		keys, err := parseKeys("x", data)
		checkCredential(t, keys, err)
		_ = messageIn(data)
		_ = expiryOf(string(data), now)
	})
}

func checkCredential(t *testing.T, c Credential, err error) {
	t.Helper()
	switch {
	case err != nil:
		if (c != Credential{}) {
			t.Errorf("a credential beside %v", err)
		}
	case c.Password == "" && c.Token == "":
		t.Error("it is empty")
	case strings.ContainsAny(c.User+c.Password+c.Token, "\r\n\x00 "):
		t.Errorf("it has another character: %q %q %q", c.User, c.Password, c.Token)
	}
}
