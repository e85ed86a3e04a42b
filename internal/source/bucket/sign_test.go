package bucket

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSignaturesAreThoseOfTheDocumentation has the examples of Amazon's page "Signature Calculations for the Authorization Header" that have no body.
func TestSignaturesAreThoseOfTheDocumentation(t *testing.T) {
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	by := credentials{key: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	for _, c := range []struct{ path, query, span, want string }{
		{"/test.txt", "", "bytes=0-9", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"/", "lifecycle=", "", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"/", "max-keys=2&prefix=J", "", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		u := address{scheme: "https", host: "examplebucket.s3.amazonaws.com", path: "/"}.url(strings.TrimPrefix(c.path, "/"), c.query)
		q, err := http.NewRequest(http.MethodGet, u.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.span != "" {
			q.Header.Set("Range", c.span)
		}
		by.sign(q, "us-east-1", at)
		if got := q.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.want) || !strings.Contains(got, "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request") {
			t.Errorf("%s?%s: %s, want %s", c.path, c.query, got, c.want)
		}
	}
}

func TestParametersAreSignedAsTheyAreSent(t *testing.T) {
	if got := canonicalQuery(map[string]string{"prefix": "a b/ü&=+", "max-keys": "2"}); got != "max-keys=2&prefix=a%20b%2F%C3%BC%26%3D%2B" {
		t.Error(got)
	}
	if got := (address{scheme: "https", host: "h", path: "/b/"}).url("a b/ü%+~.txt", "").String(); got != "https://h/b/a%20b/%C3%BC%25%2B~.txt" {
		t.Error(got)
	}
}
