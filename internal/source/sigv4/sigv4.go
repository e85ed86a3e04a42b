// Package sigv4 answers: what does a request to Amazon's services, or to a storage that speaks as theirs do, bear as its signature?
//
// In: credentials, and a request whose URL is in canonical form.
// Out: the request with its signature of version 4, in a header or in its URL.
// Promise: pure but for the request that it is given; the secret key is nowhere in it.
// Not here: where credentials come from (source/cloud, the Secret of a bucket), sending (source/bucket, source/cloud).
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Credentials sign requests. The zero value signs none: a bucket may be public.
type Credentials struct{ Key, Secret, Token string }

// String hides every field.
func (Credentials) String() string { return "***" }

// GoString hides every field.
func (Credentials) GoString() string { return "***" }

// Scope is what a signature holds for.
type Scope struct{ Service, Region string }

const (
	signingTime = "20060102T150405Z"
	signingDay  = "20060102"
	algorithm   = "AWS4-HMAC-SHA256"
	contentHash = "X-Amz-Content-Sha256"
)

// Sign adds a signature to a request with this body, which may be empty. The host is signed, and the headers Range, Content-Type and X-Amz-*.
func (c Credentials) Sign(q *http.Request, body []byte, in Scope, at time.Time) {
	hash := HexDigest(body)
	q.Header.Set(contentHash, hash)
	if c.Key == "" {
		return
	}
	q.Header.Set("X-Amz-Date", at.UTC().Format(signingTime))
	if c.Token != "" {
		q.Header.Set("X-Amz-Security-Token", c.Token)
	}
	names, lines := signedHeaders(q)
	canonical := strings.Join([]string{q.Method, q.URL.EscapedPath(), q.URL.RawQuery, lines, names, hash}, "\n")
	signature := c.signature(canonical, in, at, at.UTC().Format(signingTime))
	q.Header.Set("Authorization", fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s", algorithm, c.Key, in.text(at), names, signature))
}

// Link is a GET request that is signed in its URL.
type Link struct {
	To         url.URL // without a query
	Parameters map[string]string
	Header     http.Header // that the request has to be sent with
	Life       time.Duration
}

// Presign returns the URL of a request that holds its signature.
func (c Credentials) Presign(l Link, in Scope, at time.Time) string {
	to := l.To
	q := &http.Request{URL: &to, Header: l.Header}
	var names, lines strings.Builder
	for i, line := range append([]string{"host:" + to.Host}, headerLines(q)...) {
		name, _, _ := strings.Cut(line, ":")
		if i > 0 {
			names.WriteString(";")
		}
		names.WriteString(name)
		lines.WriteString(line + "\n")
	}
	all := map[string]string{
		"X-Amz-Algorithm": algorithm, "X-Amz-Credential": c.Key + "/" + in.text(at), "X-Amz-Date": at.UTC().Format(signingTime),
		"X-Amz-Expires": fmt.Sprint(int(l.Life / time.Second)), "X-Amz-SignedHeaders": names.String(),
	}
	for name, value := range l.Parameters {
		all[name] = value
	}
	if c.Token != "" {
		all["X-Amz-Security-Token"] = c.Token
	}
	query := CanonicalQuery(all)
	canonical := strings.Join([]string{http.MethodGet, to.EscapedPath(), query, lines.String(), names.String(), HexDigest(nil)}, "\n")
	to.RawQuery = query + "&X-Amz-Signature=" + c.signature(canonical, in, at, at.UTC().Format(signingTime))
	return to.String()
}

// commitTime is the form of times in the signatures of CodeCommit, which has no zone.
const commitTime = "20060102T150405"

// GitPassword returns the user and password by which Git reads a repository of CodeCommit: the signature of a request with the method GIT.
func (c Credentials) GitPassword(host, path string, in Scope, at time.Time) (user, password string) {
	if user = c.Key; c.Token != "" {
		user += "%" + c.Token
	}
	canonical := "GIT\n" + path + "\n\nhost:" + host + "\n\nhost\n"
	text := at.UTC().Format(commitTime)
	return user, text + "Z" + c.signature(canonical, in, at, text)
}

func (s Scope) text(at time.Time) string {
	return strings.Join([]string{at.UTC().Format(signingDay), s.Region, s.Service, "aws4_request"}, "/")
}

func (c Credentials) signature(canonical string, in Scope, at time.Time, moment string) string {
	text := strings.Join([]string{algorithm, moment, in.text(at), HexDigest([]byte(canonical))}, "\n")
	key := []byte("AWS4" + c.Secret)
	for part := range strings.SplitSeq(in.text(at), "/") {
		key = keyedSum(key, part)
	}
	return hex.EncodeToString(keyedSum(key, text))
}

// signedHeaders are the names of the headers that are signed, and a line for each of them.
func signedHeaders(q *http.Request) (names, lines string) {
	list := append(headerLines(q), "host:"+q.URL.Host)
	slices.Sort(list)
	var all []string
	for _, line := range list {
		name, _, _ := strings.Cut(line, ":")
		all = append(all, name)
		lines += line + "\n"
	}
	return strings.Join(all, ";"), lines
}

// headerLines are sorted lines of the headers that are signed beside the host.
func headerLines(q *http.Request) []string {
	var out []string
	for name, all := range q.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-") || name == "range" || name == "content-type" {
			out = append(out, name+":"+strings.TrimSpace(strings.Join(all, ",")))
		}
	}
	slices.Sort(out)
	return out
}

// HexDigest is the SHA-256 of a content as a signature names it.
func HexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func keyedSum(key []byte, text string) []byte {
	sum := hmac.New(sha256.New, key)
	_, _ = sum.Write([]byte(text)) // a hash takes all
	return sum.Sum(nil)
}

// EscapePath is a path as it is signed: each byte but letters, digits and -._~/ as two hexadecimal digits.
func EscapePath(path string) string {
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

// CanonicalQuery writes parameters in the order and the form in which they are signed.
func CanonicalQuery(parameters map[string]string) string {
	var out []string
	for name, value := range parameters {
		out = append(out, escapeText(name)+"="+escapeText(value))
	}
	slices.Sort(out)
	return strings.Join(out, "&")
}
