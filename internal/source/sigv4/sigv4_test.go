package sigv4_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source/sigv4"
)

// TestSignaturesAreThoseOfTheDocumentation has the examples of Amazon's page "Signature Calculations for the Authorization Header" that have no body.
func TestSignaturesAreThoseOfTheDocumentation(t *testing.T) {
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	by := sigv4.Credentials{Key: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	for _, c := range []struct{ path, query, span, want string }{
		{"/test.txt", "", "bytes=0-9", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"/", "lifecycle=", "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"/", "max-keys=2&prefix=J", "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		u := url.URL{Scheme: "https", Host: "examplebucket.s3.amazonaws.com", Path: c.path, RawQuery: c.query}
		q, err := http.NewRequest(http.MethodGet, u.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.span != "" {
			q.Header.Set("Range", c.span)
		}
		by.Sign(q, nil, sigv4.Scope{Service: "s3", Region: "us-east-1"}, at)
		if got := q.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.want) || !strings.Contains(got, "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request") {
			t.Errorf("%s?%s: %s, want %s", c.path, c.query, got, c.want)
		}
	}
}

// TestAPresignedURLHoldsWhatItIsSignedFor compares the parts; a verifier of the tests (testing/cloudtest) computes the signature by itself.
func TestAPresignedURLHoldsWhatItIsSignedFor(t *testing.T) {
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	by := sigv4.Credentials{Key: "AKIAIOSFODNN7EXAMPLE", Secret: "secret", Token: "a/b"}
	text := by.Presign(sigv4.Link{
		To: url.URL{Scheme: "https", Host: "sts.eu-west-1.amazonaws.com", Path: "/"}, Parameters: map[string]string{"Action": "GetCallerIdentity"},
		Header: http.Header{"X-K8s-Aws-Id": {"prod"}}, Life: time.Minute,
	}, sigv4.Scope{Service: "sts", Region: "eu-west-1"}, at)
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Action": "GetCallerIdentity", "X-Amz-Credential": "AKIAIOSFODNN7EXAMPLE/20130524/eu-west-1/sts/aws4_request", "X-Amz-Date": "20130524T000000Z",
		"X-Amz-Expires": "60", "X-Amz-SignedHeaders": "host;x-k8s-aws-id", "X-Amz-Security-Token": "a/b", "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
	} {
		if got := u.Query().Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if len(u.Query().Get("X-Amz-Signature")) != 64 || strings.Contains(text, "secret") {
		t.Error(text)
	}
}

func TestParametersAreSignedAsTheyAreSent(t *testing.T) {
	if got := sigv4.CanonicalQuery(map[string]string{"prefix": "a b/ü&=+", "max-keys": "2"}); got != "max-keys=2&prefix=a%20b%2F%C3%BC%26%3D%2B" {
		t.Error(got)
	}
	if got := sigv4.EscapePath("/b/a b/ü%+~.txt"); got != "/b/a%20b/%C3%BC%25%2B~.txt" {
		t.Error(got)
	}
}
