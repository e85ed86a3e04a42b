package s3test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/ ]+)/(\d{8})/([^/ ]+)/([a-z0-9-]+)/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$`)

// maxSkew is how far the time of a request may be from that of the storage, as at Amazon.
const maxSkew = 15 * time.Minute

// Keys are credentials as a service knows them.
type Keys struct{ Access, Secret, Token string }

// SignatureFault is the code of what is wrong with the signature of a request to a service in a region; empty for nothing. It is computed from what was
// sent, without the code that signs. The body is that which the header X-Amz-Content-Sha256 names.
func SignatureFault(q *http.Request, keys Keys, service, region string) string {
	m := authorization.FindStringSubmatch(q.Header.Get("Authorization"))
	if m == nil {
		return "AccessDenied"
	}
	access, day, signedRegion, names, signature := m[1], m[2], m[3], strings.Split(m[5], ";"), m[6]
	at, err := time.Parse("20060102T150405Z", q.Header.Get("X-Amz-Date"))
	switch {
	case access != keys.Access:
		return "InvalidAccessKeyId"
	case err != nil || time.Since(at).Abs() > maxSkew || !strings.HasPrefix(q.Header.Get("X-Amz-Date"), day):
		return "RequestTimeTooSkewed"
	case signedRegion != region || m[4] != service:
		return "AuthorizationHeaderMalformed"
	case q.Header.Get("X-Amz-Security-Token") != keys.Token:
		return "InvalidToken"
	case !slices.IsSorted(names) || !slices.Contains(names, "host") || !coversAmazonHeaders(q, names):
		return "SignatureDoesNotMatch"
	}
	path, query, _ := strings.Cut(q.RequestURI, "?")
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		if p != "" && !strings.Contains(p, "=") {
			parameters[i] += "="
		}
	}
	slices.Sort(parameters)
	var request strings.Builder
	request.WriteString(q.Method + "\n" + path + "\n" + strings.Join(parameters, "&") + "\n")
	for _, name := range names {
		value := strings.Join(q.Header.Values(name), ",")
		if name == "host" {
			value = q.Host
		}
		request.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	request.WriteString("\n" + strings.Join(names, ";") + "\n" + q.Header.Get("X-Amz-Content-Sha256"))
	sum := sha256.Sum256([]byte(request.String()))
	toSign := "AWS4-HMAC-SHA256\n" + q.Header.Get("X-Amz-Date") + "\n" + day + "/" + region + "/" + service + "/aws4_request\n" + hex.EncodeToString(sum[:])
	key := mac(mac(mac(mac([]byte("AWS4"+keys.Secret), day), region), service), "aws4_request")
	if hex.EncodeToString(mac(key, toSign)) != signature {
		return "SignatureDoesNotMatch"
	}
	return ""
}

// coversAmazonHeaders reports whether all headers of Amazon are signed, as they must be.
func coversAmazonHeaders(q *http.Request, names []string) bool {
	for name := range q.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Signature computes that of a text by a secret key, for a scope such as 20130524/us-east-1/s3/aws4_request.
func Signature(secret, scope, text string) string {
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, text))
}
