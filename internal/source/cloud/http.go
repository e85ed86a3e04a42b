package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/pattern"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

const (
	mostAnswer = 1 << 20 // bytes
	mostFile   = 64 << 10
	// nearTime bounds requests to services of this machine: elsewhere their addresses lead nowhere, silently.
	nearTime = 5 * time.Second
)

// call is one request.
type call struct {
	service string // in messages
	method  string
	url     string
	header  map[string]string
	body    []byte
	secrets []string // that no message may have
}

// formBody is the body of a call.
func formBody(values url.Values) []byte { return []byte(values.Encode()) }

const formType = "application/x-www-form-urlencoded"

func (c call) request(ctx context.Context) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, c.method, c.url, bytes.NewReader(c.body))
	if err != nil {
		return nil, fmt.Errorf("the address of %s is malformed", c.service)
	}
	for name, value := range c.header {
		q.Header.Set(name, value)
	}
	q.Header.Set("User-Agent", "truce")
	return q, nil
}

// send asks a service of a cloud.
func (e *Exchange) send(ctx context.Context, c call) ([]byte, error) {
	q, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	return e.sendRequest(q, c)
}

func (e *Exchange) sendRequest(q *http.Request, c call) ([]byte, error) {
	client, err := transport.NewClient(transport.Options{Servers: e.Servers, Auth: source.Auth{}})
	if err != nil {
		return nil, err
	}
	return answerOf(client, q, c)
}

// sendNear asks a service of this machine or its link, which is neither judged nor reached by a proxy: its address is the controller's own.
func (e *Exchange) sendNear(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, nearTime, fmt.Errorf("%s does not answer within %s", c.service, nearTime))
	defer cancel()
	q, err := c.request(ctx)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: nearTime}
	data, err := answerOf(&http.Client{Transport: &http.Transport{DialContext: d.DialContext, MaxResponseHeaderBytes: mostFile}}, q, c)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return data, err
}

// answerOf sends a request once, and returns its answer if the status is 200.
func answerOf(client *http.Client, q *http.Request, c call) ([]byte, error) {
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(q)
	if at := (*url.Error)(nil); errors.As(err, &at) {
		err = fmt.Errorf("ask %s at %s: %w", c.service, q.URL.Host, at.Err)
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c.service, err)
	}
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, refusal(c, answer.StatusCode, data)
	case len(data) > mostAnswer:
		return nil, fmt.Errorf("%s answers more than %d bytes", c.service, mostAnswer)
	}
	return data, nil
}

// answerError is an answer that is no credential.
type answerError struct {
	status int
	text   string
}

// Error is the service, the status and a few words of the server.
func (e *answerError) Error() string { return e.text }

func refusal(c call, status int, data []byte) error {
	text := fmt.Sprintf("%s answers %d %s", c.service, status, http.StatusText(status))
	if says := redact.KnownOf(c.secrets...).Foreign(messageIn(data), transport.LongestSaying); says != "" {
		text += fmt.Sprintf("; it says %q", says)
	}
	return &answerError{status, text}
}

// messageIn finds what a service says in the documents that the clouds answer with.
func messageIn(data []byte) string {
	var object struct {
		Code, Message, Type string
		AWSType             string          `json:"__type"`
		Error               json.RawMessage `json:"error"`
		Description         string          `json:"error_description"`
		Errors              []struct{ Code, Message string }
	}
	if json.Unmarshal(data, &object) == nil {
		var inner struct{ Message, Status string }
		if json.Unmarshal(object.Error, &inner) != nil {
			inner.Status, _ = strconv.Unquote(string(object.Error))
		}
		for _, e := range object.Errors {
			inner.Message += e.Code + " " + e.Message
		}
		return strings.Join(strings.Fields(strings.Join([]string{object.AWSType, object.Code, object.Message, inner.Status, inner.Message, object.Description}, " ")), " ")
	}
	var document struct {
		Error struct{ Code, Message string }
	}
	if xml.Unmarshal(data, &document) == nil {
		return strings.TrimSpace(document.Error.Code + " " + document.Error.Message)
	}
	return ""
}

// decodeAnswer reads an answer in JSON.
func decodeAnswer(data []byte, service string, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the answer of %s cannot be read", service)
	}
	return nil
}

// badText reports whether a text cannot be part of a header or a URL: no credential of a cloud has spaces or control characters.
func badText(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// tokenFrom is a credential of one token.
func tokenFrom(service, token string, until time.Time) (Credential, error) {
	if token == "" || badText(token) {
		return Credential{}, fmt.Errorf("the answer of %s holds no token", service)
	}
	return Credential{Token: token, Until: until}, nil
}

// longestLife is what a lifetime that an answer names is cut to.
const longestLife = 24 * time.Hour

// lifetimeEnd is the end of a lifetime in seconds, a number or a text of one.
func lifetimeEnd(asked time.Time, seconds json.RawMessage) time.Time {
	n, err := strconv.ParseFloat(strings.Trim(string(seconds), `"`), 64)
	if err != nil || !(n > 0) {
		return asked
	}
	return asked.Add(time.Duration(min(n, longestLife.Seconds()) * float64(time.Second)))
}

// readToken reads a file that the controller's environment names.
func readToken(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, mostFile))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return strings.TrimSpace(string(data)), nil
}

// regionForm is what may be a part of the host of a service.
var regionForm = pattern.OnDemand(`^[a-z]{2,6}(-[a-z0-9]{1,16}){1,4}$`)

// isLocalHost reports whether a host is this machine or its link.
func isLocalHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip == netip.MustParseAddr("fd00:ec2::23"))
}
