package bucket

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// credentials sign requests. The zero value signs none: a bucket may be public.
type credentials struct{ key, secret, token string }

const (
	signingTime = "20060102T150405Z"
	signingDay  = "20060102"
	algorithm   = "AWS4-HMAC-SHA256"
	service     = "s3"
)

// emptyHash is the hash of a request's body, of which there is none.
var emptyHash = hexDigest("")

// sign adds a signature of version 4 to a request without a body whose URL is in canonical form. The host is signed, and the headers Range and X-Amz-*.
func (c credentials) sign(q *http.Request, region string, at time.Time) {
	q.Header.Set("X-Amz-Content-Sha256", emptyHash)
	if c.key == "" {
		return
	}
	at = at.UTC()
	q.Header.Set("X-Amz-Date", at.Format(signingTime))
	if c.token != "" {
		q.Header.Set("X-Amz-Security-Token", c.token)
	}
	names, lines := signedHeaders(q)
	canonical := strings.Join([]string{q.Method, q.URL.EscapedPath(), q.URL.RawQuery, lines, names, emptyHash}, "\n")
	scope := strings.Join([]string{at.Format(signingDay), region, service, "aws4_request"}, "/")
	text := strings.Join([]string{algorithm, at.Format(signingTime), scope, hexDigest(canonical)}, "\n")
	key := []byte("AWS4" + c.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyedSum(key, part)
	}
	signature := hex.EncodeToString(keyedSum(key, text))
	q.Header.Set("Authorization", fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s", algorithm, c.key, scope, names, signature))
}

// signedHeaders are the names of the headers that are signed, and a line for each of them.
func signedHeaders(q *http.Request) (names, lines string) {
	values := map[string]string{"host": q.URL.Host}
	list := []string{"host"}
	for name, all := range q.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") || name == "range" {
			values[name] = strings.TrimSpace(strings.Join(all, ","))
			list = append(list, name)
		}
	}
	slices.Sort(list)
	var out strings.Builder
	for _, name := range list {
		out.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(list, ";"), out.String()
}

func hexDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func keyedSum(key []byte, text string) []byte {
	sum := hmac.New(sha256.New, key)
	_, _ = sum.Write([]byte(text)) // a hash takes all
	return sum.Sum(nil)
}

// escapePath is a path as it is signed: each byte but letters, digits and -._~/ as two hexadecimal digits.
func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = escapeText(p)
	}
	return strings.Join(parts, "/")
}

func escapeText(text string) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		switch {
		case 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', '0' <= b && b <= '9', strings.IndexByte("-._~", b) >= 0:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

// canonicalQuery writes parameters in the order and the form in which they are signed.
func canonicalQuery(parameters map[string]string) string {
	var out []string
	for name, value := range parameters {
		out = append(out, escapeText(name)+"="+escapeText(value))
	}
	slices.Sort(out)
	return strings.Join(out, "&")
}
