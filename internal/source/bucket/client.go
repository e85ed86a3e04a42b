package bucket

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/sigv4"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// client sends signed requests for one bucket. Its methods but get are called by one goroutine at a time.
type client struct {
	http   *http.Client
	at     address
	fixed  bool // the region is one that the spec or the endpoint names
	static sigv4.Credentials
	tokens *tokenService // nil for none
	clouds *cloud.Exchange
	issuer provider.Identity // whose keys sign; the zero value for static
	other  storage           // nil for one that speaks as S3 does
}

// answerError is what a storage has answered instead of what was asked for.
type answerError struct {
	status  int
	code    string // of S3, such as NoSuchBucket
	message string // of the server
	region  string // of the bucket, where the answer names it
	signed  bool
}

// Error is the status and the server's code.
func (e *answerError) Error() string {
	text := fmt.Sprintf("the server answers %d %s", e.status, http.StatusText(e.status))
	if e.code != "" {
		text += fmt.Sprintf(" (%s)", e.code)
	}
	return text
}

// find is a request for a list, which also finds out in which region the bucket is.
func (c *client) find(ctx context.Context, query string) (*http.Response, error) {
	answer, err := c.get(ctx, c.at.url("", query).String(), nil)
	var refused *answerError
	if !errors.As(err, &refused) {
		return answer, err
	}
	switch {
	case refused.status == http.StatusForbidden && c.tokens != nil:
		c.tokens.forget() // the next fetch asks for others
	case refused.region == "" || refused.region == c.at.region || !isRegion(refused.region):
	case c.fixed:
		return nil, transport.Failed(source.BucketFailed, "%w: it is in %q", errAnotherRegion, refused.region)
	default:
		if c.at.region = refused.region; c.at.amazon {
			c.at = c.at.in(refused.region)
		}
		return c.get(ctx, c.at.url("", query).String(), nil)
	}
	return nil, err
}

// get sends a request. Its answer has the status 200, or 304 where a header asks for that.
func (c *client) get(ctx context.Context, at string, header http.Header) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, transport.Failed(source.BucketFailed, "the address of the object is malformed")
	}
	for name := range header {
		q.Header.Set(name, header.Get(name))
	}
	q.Header.Set("User-Agent", "truce")
	given, lack := c.authorize(ctx, q)
	if lack != nil && given {
		return nil, lack
	}
	answer, err := c.http.Do(q)
	if err != nil {
		return nil, errors.Join(lack, err)
	}
	if answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusNotModified && header.Get(ifNoneMatch) != "" {
		return answer, nil
	}
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
		c.clouds.RejectToken(tokenIn(q.Header))
	}
	refused := readRefusal(answer)
	refused.signed = given
	if lack != nil && refused.code != blobNotFound {
		return nil, errors.Join(lack, answer.Body.Close())
	}
	return nil, errors.Join(refused, answer.Body.Close())
}

// tokenIn returns the token that a cloud has given for a request: of an identity, or of a session of AWS.
func tokenIn(header http.Header) string {
	token, _ := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	return cmp.Or(header.Get("X-Amz-Security-Token"), token)
}

// authorize adds credentials to a request, and reports whether there are any. Where there are none, the error says why, and the bucket may be public.
func (c *client) authorize(ctx context.Context, q *http.Request) (given bool, err error) {
	by := c.static
	switch {
	case c.other != nil:
		return c.other.authorize(ctx, q)
	case c.tokens != nil:
		by, err = c.tokens.credentials(ctx)
	case c.issuer.Cloud != provider.NoCloud:
		by, err = c.clouds.AWS(ctx, c.issuer, c.at.region)
	}
	if err != nil {
		return true, err
	}
	by.Sign(q, nil, sigv4.Scope{Service: service, Region: cmp.Or(c.at.region, defaultRegion)}, time.Now())
	return by.Key != "", nil
}

// objectURL is that of an object.
func (c *client) objectURL(o object) string {
	if c.other != nil {
		return c.other.objectURL(o)
	}
	return c.at.url(o.Key, "").String()
}

// tag is the etag of an answer with an object, as the list has it.
func (c *client) tag(header http.Header) string {
	if c.other != nil {
		return c.other.tag(header)
	}
	return trimETag(header.Get("ETag"))
}

const (
	service       = "s3"
	ifNoneMatch   = "If-None-Match"
	mostOfRefusal = 64 << 10 // bytes of an error's description
)

// readRefusal reads the error document of S3, where there is one.
func readRefusal(answer *http.Response) *answerError {
	out := &answerError{status: answer.StatusCode, region: answer.Header.Get("X-Amz-Bucket-Region")}
	data, _ := io.ReadAll(io.LimitReader(answer.Body, mostOfRefusal)) // what came is enough for a message
	var document struct {
		Code, Message, Region string
	}
	var object struct {
		Error struct{ Message, Status string }
	} // of Google Cloud
	if json.Unmarshal(data, &object) == nil {
		document.Code, document.Message = cmp.Or(object.Error.Status, strings.ReplaceAll(http.StatusText(answer.StatusCode), " ", "")), object.Error.Message
	}
	if (document.Code != "" || xml.Unmarshal(data, &document) == nil) && len(document.Code) <= longestCode && codeForm.MatchString(document.Code) {
		out.code, out.message = document.Code, document.Message
		if out.region == "" {
			out.region = document.Region
		}
	}
	return out
}
