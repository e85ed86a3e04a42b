package deliver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/notify/payload"
	"github.com/truce-gitops/truce/internal/report/notify/route"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// sendError says why a message was not taken. Its text holds no credential.
type sendError struct {
	text  string
	final bool          // another try gets the same answer
	after time.Duration // that the receiver asks for; 0 for nothing

	status int // of the answer; 0 for none
}

// Error implements error.
func (e *sendError) Error() string { return e.text }

// longestAnswer is how much of an answer is read, and longestSaying how much of it is in an error, in bytes.
const (
	longestAnswer = 16 << 10
	longestSaying = 160
)

// secretsOf returns the values that must be in no message: those of the Secrets, the token, and what an address holds beside its host.
func secretsOf(p Loaded, t payload.Target, address string) redact.Known {
	values := []string{t.Token}
	if p.Type == "pagerduty" { // there the channel is the integration key
		values = append(values, p.Channel)
	}
	for _, data := range []map[string][]byte{p.SecretData, p.CertificateData, p.ProxyData} {
		for _, v := range data {
			values = append(values, string(v))
		}
	}
	for _, text := range []string{p.Address, t.Address} { // of a connection string
		for part := range strings.SplitSeq(text, ";") {
			if _, value, ok := strings.Cut(part, "SharedAccessKey="); ok {
				values = append(values, value, part)
			}
		}
	}
	for _, text := range []string{p.Address, p.Proxy, address} {
		values = append(values, secretsInURL(text)...)
	}
	return redact.KnownOf(slices.DeleteFunc(values, func(v string) bool { return len(v) < 6 })...)
}

// secretsInURL returns what a URL holds beside its host.
func secretsInURL(text string) []string {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	values := append(strings.Split(u.EscapedPath(), "/"), u.Path, u.RawQuery)
	if password, ok := u.User.Password(); ok {
		return append(values, password)
	}
	return append(values, u.User.Username()) // a token
}

// post sends one content.
func (d *Deliverer) post(ctx context.Context, p Loaded, c payload.Content) error {
	target, lack := targetOf(p)
	if lack != "" {
		return &sendError{text: lack}
	}
	ctx, cancel := withLastMoment(ctx, p.Timeout)
	defer cancel()
	byApp, err := d.withApp(ctx, p, &target)
	if err != nil {
		return &sendError{text: secretsOf(p, target, "").Line(err.Error(), 2*longestSaying)}
	}
	if err := d.withIdentity(ctx, p, &target); err != nil {
		return &sendError{text: secretsOf(p, target, "").Line(err.Error(), 2*longestSaying)}
	}
	q, err := payload.BuildRequest(target, c)
	if err != nil {
		return &sendError{text: secretsOf(p, target, "").Line(err.Error(), 2*longestSaying), final: errors.Is(err, route.ErrUnfit)}
	}
	switch {
	case q.Mail != nil:
		return d.sendMail(ctx, p, target, q)
	case q.Subject != "":
		return d.publish(ctx, p, target, q)
	}
	err = d.sendHTTP(ctx, p, target, q)
	if refused := (*sendError)(nil); errors.As(err, &refused) && refused.status == http.StatusUnauthorized {
		switch {
		case byApp:
			d.forgetApp(p)
		case target.IsBearer:
			d.Clouds.RejectToken(target.Token)
		}
	}
	return err
}

// lastMoment is how long a request may go on after the end of the process has begun: its answer says whether the message has to be sent again.
const lastMoment = 500 * time.Millisecond

// withLastMoment returns a context that ends within a time, and lastMoment after another one.
func withLastMoment(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastMoment):
		case <-out.Done():
		}
		cancel()
	})
	return out, func() { stop(); cancel() }
}

// sendHTTP sends one request, or what else it takes.
func (d *Deliverer) sendHTTP(ctx context.Context, p Loaded, target payload.Target, q payload.Request) error {
	address := q.URL
	if payload.IsCommitStatus(p.Type) || payload.IsComment(p.Type) {
		address = "" // the words of a public API: hidden, the scope write:repository that a token lacks would be ***itory
	}
	known := secretsOf(p, target, address)
	client, err := d.client(p)
	if err != nil {
		return &sendError{text: known.Line(err.Error(), 2*longestSaying)}
	}
	defer client.CloseIdleConnections()
	w := way{client, target.Type, known}
	if q.Thread != nil {
		return w.comment(ctx, q)
	}
	_, err = w.send(ctx, q, longestAnswer)
	return err
}

// way is how requests reach one Provider.
type way struct {
	client *http.Client
	kind   string       // of the Provider
	known  redact.Known // what must be in no error
}

// mostMoves is how many permanent redirects one request follows.
const mostMoves = 3

// send sends one request, and returns its answer, as far as it is wanted. An error is a *sendError.
func (w way) send(ctx context.Context, q payload.Request, most int64) ([]byte, error) {
	answer, err := w.do(ctx, q)
	for moves := 0; err == nil && answer.StatusCode == http.StatusMovedPermanently && moves < mostMoves; moves++ {
		to, lack := answer.Location()
		if lack != nil {
			break
		}
		_ = answer.Body.Close() // it holds nothing that is wanted
		q.URL = to.String()
		answer, err = w.do(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	body, _ := io.ReadAll(io.LimitReader(answer.Body, most))
	return body, refusalOf(answer, w.kind, body, w.known)
}

// do sends one request. Its answer may be a permanent redirect within the server.
func (w way) do(ctx context.Context, q payload.Request) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, q.Method, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return nil, &sendError{text: "the address is malformed"}
	}
	r.Header.Set("User-Agent", "truce")
	for name, value := range q.Headers {
		r.Header.Set(name, value)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return nil, &sendError{text: w.known.Line(r.URL.Host+": "+withoutAddress(err).Error(), 2*longestSaying)}
	}
	return answer, nil
}

// refusalOf returns why an answer is no success.
func refusalOf(r *http.Response, kind string, body []byte, known redact.Known) error {
	taken, final, says := payload.ReadAnswer(kind, r.StatusCode, string(body))
	if taken {
		return nil
	}
	e := &sendError{text: fmt.Sprintf("%s: %d %s", r.Request.URL.Host, r.StatusCode, http.StatusText(r.StatusCode)), after: retryAfter(r.Header.Get("Retry-After"), time.Now()), status: r.StatusCode}
	if r.StatusCode == http.StatusTooManyRequests {
		e.after = cmp.Or(e.after, askedPause(kind, string(body)))
	}
	if line := known.Foreign(cmp.Or(says, messageIn(body), string(body)), longestSaying); line != "" {
		e.text += fmt.Sprintf("; the server says %q", line)
	}
	e.final = final || saysGone(kind, r.StatusCode, body) || slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}, r.StatusCode)
	return e
}

// saysGone reports whether an answer says, most likely, that there is no such commit or pull request: others must not wait for it. Gitea says 500 of a commit.
func saysGone(kind string, status int, body []byte) bool {
	if !payload.IsCommitStatus(kind) && !payload.IsComment(kind) && kind != payload.ArgoService+"github" {
		return false
	}
	return status == http.StatusNotFound || kind == "gitea" && status == http.StatusInternalServerError && bytes.Contains(body, []byte("object does not exist"))
}

// messageIn returns the message of an answer in JSON, as Gitea, GitHub and GitLab give it; empty for none.
func messageIn(body []byte) string {
	var says struct {
		Message any `json:"message"` // of GitLab an object, too
	}
	if json.Unmarshal(body, &says) != nil {
		return ""
	}
	text, _ := says.Message.(string)
	return text
}

// askedPause returns how long a receiver asks for in the body of an answer: Telegram, Discord and older servers of Matrix say it there. 0 is for nothing.
func askedPause(kind, body string) time.Duration {
	var asks struct {
		Parameters struct {
			RetryAfter float64 `json:"retry_after"` // of Telegram
		} `json:"parameters"`
		RetryAfter float64 `json:"retry_after"`    // of Discord
		RetryMilli float64 `json:"retry_after_ms"` // of Matrix
	}
	if !slices.Contains([]string{"telegram", "discord", "matrix"}, kind) || json.Unmarshal([]byte(body), &asks) != nil {
		return 0
	}
	seconds := asks.Parameters.RetryAfter + asks.RetryAfter + asks.RetryMilli/1000
	return time.Duration(min(max(seconds, 0), 1<<20) * float64(time.Second))
}

// retryAfter reads the header, which holds seconds or a date; 0 for none.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// withoutAddress is an error without the address, which may hold a token.
func withoutAddress(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// client returns a client of the Provider's certificates and proxy, for servers that may be reached. It goes with no redirect to another server.
func (d *Deliverer) client(p Loaded) (*http.Client, error) {
	o := transport.Options{Servers: d.Servers, Auth: certificatesOf(p)}
	var err error
	if o.Proxy, err = proxyOf(p); err != nil {
		return nil, err
	}
	c, err := transport.NewClient(o)
	if err != nil {
		return nil, err
	}
	c.CheckRedirect = checkRedirect
	return c, nil
}

// certificatesOf reads the Secret of spec.certSecretRef.
func certificatesOf(p Loaded) source.Auth {
	return source.Auth{
		CABundle: keyOfAny(p.CertificateData, "ca.crt", "caFile"), ClientCert: keyOfAny(p.CertificateData, "tls.crt", "certFile"), ClientKey: keyOfAny(p.CertificateData, "tls.key", "keyFile"),
	}
}

// proxyOf returns the URL of a Provider's proxy, with its credentials; empty for that of the environment.
func proxyOf(p Loaded) (string, error) {
	address := keyOfAny(p.ProxyData, "address")
	if address == "" {
		return cmp.Or(keyOfAny(p.SecretData, "proxy"), p.Proxy), nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the key address of the proxy's Secret is no URL")
	}
	if name := keyOfAny(p.ProxyData, "username"); name != "" {
		u.User = url.UserPassword(name, keyOfAny(p.ProxyData, "password"))
	}
	return u.String(), nil
}

// checkRedirect follows a redirect within one server only: headers and bodies hold credentials. After 301, 302 and 303 net/http would read a page in place of
// sending the message: where a resource has moved for good, as a repository that was renamed at Gitea, way.send sends it there, and else, as where a login is
// shown, nothing was sent.
func checkRedirect(next *http.Request, before []*http.Request) error {
	switch first := before[0].URL; {
	case len(before) > 3:
		return errors.New("too many redirects")
	case next.URL.Host != first.Host || next.URL.Scheme != first.Scheme:
		return errors.New("the server redirects to another one, which gets no credentials: set the address to that one")
	case next.Method != before[len(before)-1].Method && next.Response.StatusCode == http.StatusMovedPermanently:
		return http.ErrUseLastResponse
	case next.Method != before[len(before)-1].Method:
		return fmt.Errorf("the server redirects (%s) to a page that is read without the message: check the address and the credentials", next.Response.Status)
	}
	return nil
}

func keyOfAny(data map[string][]byte, keys ...string) string {
	for _, key := range keys {
		if v := strings.TrimSpace(string(data[key])); v != "" {
			return v
		}
	}
	return ""
}

// targetOf reads the keys that Flux documents for the Secret of a Provider, and says what is not there.
func targetOf(p Loaded) (payload.Target, string) {
	for name, data := range map[string]map[string][]byte{p.Secret: p.SecretData, p.Certificates: p.CertificateData, p.ProxySecret: p.ProxyData} {
		if name != "" && data == nil {
			return payload.Target{}, "Secret " + p.Key.Namespace + "/" + name + " is not there"
		}
	}
	t := payload.Target{
		Type: p.Type, Address: cmp.Or(keyOfAny(p.SecretData, "address"), p.Address), Channel: p.Channel, Thread: p.Thread, Username: p.Username, Token: keyOfAny(p.SecretData, "token"),
		Login: keyOfAny(p.SecretData, "username"), Password: keyOfAny(p.SecretData, "password"),
		UID: p.UID,
	}
	switch p.Type {
	case payload.ArgoService + "webhook":
		t.Secrets = namedSecrets(p)
	case "slack", "rocket", "discord": // the name of the sender, which the Secret overrides, as in Flux
		t.Username = cmp.Or(t.Login, t.Username)
	}
	if text := p.SecretData["headers"]; len(text) > 0 && yaml.Unmarshal(text, &t.Headers) != nil {
		return t, "the key headers of Secret " + p.Secret + " is no map of texts in YAML"
	}
	return t, ""
}

// TemplateKey begins the keys of a Loaded's SecretData that are those of argocd-notifications-secret.
const TemplateKey = "secret "

// namedSecrets returns the values that templates of Argo CD's may name. A line break at the end is of who has made the Secret.
func namedSecrets(p Loaded) map[string]string {
	out := map[string]string{}
	for key, value := range p.SecretData {
		if name, is := strings.CutPrefix(key, TemplateKey); is {
			out[name] = strings.TrimSpace(string(value))
		}
	}
	return out
}
