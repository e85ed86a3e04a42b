package stories

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/compose"
)

// eachProvider are Providers by their types: what their address is behind that of the endpoint, further fields, and at which path the message comes in.
var eachProvider = []struct{ kind, address, spec, at string }{
	{"generic", "/generic", "", "/generic"},
	{"generic-hmac", "/hmac", "", "/hmac"},
	{"slack", "/slack", "channel: general", "/slack"},
	{"rocket", "/rocket", "channel: general", "/rocket"},
	{"discord", "/discord", "", "/discord"},
	{"msteams", "/msteams", "", "/msteams"},
	{"googlechat", "/googlechat", "", "/googlechat"},
	{"lark", "/lark", "", "/lark"},
	{"telegram", "/telegram", "channel: '-100'", "/telegram/bots3cret-t0ken/sendMessage"},
	{"matrix", "/matrix", "channel: '!room:example.com'", "/matrix/_matrix/client/v3/rooms/!room:example.com/send/m.room.message/"},
	{"webex", "/webex", "channel: room", "/webex"},
	{"zulip", "/zulip", "channel: ops/truce", "/zulip/api/v1/messages"},
	{"alertmanager", "/alertmanager", "", "/alertmanager"},
	{"pagerduty", "/pagerduty", "channel: key", "/pagerduty/v2/enqueue"},
	{"opsgenie", "/opsgenie", "", "/opsgenie/"},
	{"grafana", "/grafana", "", "/grafana/api/annotations"},
	{"sentry", "/sentry/1", "", "/sentry/api/1/store/"},
	{"datadog", "/datadog", "", "/datadog/api/v1/events"},
	{"githubdispatch", "/org/dispatch", "", "/api/v3/repos/org/dispatch/dispatches"},
	{"otel", "/otel", "", "/otel"},
	{"nats", "", "channel: truce.events", ""},
	{"email", "", "channel: ops@example.com\n  username: truce@example.com", ""},
	{"github", "/org/github", "", "/api/v3/repos/org/github/statuses/"},
	{"gitlab", "/org/gitlab", "", "/api/v4/projects/org/gitlab/statuses/"},
	{"gitea", "/org/gitea", "", "/api/v1/repos/org/gitea/statuses/"},
	{"bitbucketserver", "/scm/org/bitbucketserver.git", "", "/rest/"},
	{"azuredevops", "/org/project/_git/azure", "", "/org/project/_apis/git/repositories/azure/commits/"},
}

// TestEachProviderHearsOfADriftOnce: one Provider of each type, one count that is changed by hand; those that write the status of a commit have that of the revision.
// TestVendorsAreReachedAtTheirOwnAddresses has those whose address the vendor sets, and TestAMessageIsSentByAnIdentity the queues of clouds.
func TestEachProviderHearsOfADriftOnce(t *testing.T) {
	w := offWorld(t, document3)
	e := newEndpoint(t)
	servers := map[string]string{"nats": e.serveNATS(t), "email": e.serveMail(t)}
	var all strings.Builder
	for _, p := range eachProvider {
		address, secret := e.URL+p.address, "token: s3cret-t0ken, username: bot@example.com, password: s3cret-p4ss"
		switch p.kind {
		case "sentry":
			address = strings.Replace(address, "://", "://key@", 1)
		case "zulip":
			secret = "username: bot@example.com, password: s3cret-p4ss"
		case "nats", "email":
			address, secret = servers[p.kind], `x: "y"`
		}
		fmt.Fprintf(&all, `
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: %[2]s}
stringData: {address: "%[3]s", %[4]s}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  type: %[1]s
  secretRef: {name: %[1]s}
  %[5]s
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  providerRef: {name: %[1]s}
  eventSources: [{kind: Kustomization, name: "*"}]
---`, p.kind, w.ns, address, secret, p.spec)
	}
	w.Apply(t, strings.TrimSuffix(all.String(), "---"))
	w.run(compose.RunOptions{Windows: shortWindows})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	for _, p := range eachProvider {
		at, text := p.at, ".spec.replicas"
		switch p.kind {
		case "nats", "email":
			at = p.kind
		case "github", "gitlab", "gitea", "bitbucketserver", "azuredevops":
			text = "reconciliation succeeded"
		}
		e.hears(t, p.kind, at, text)
	}
}

// hears waits until a text has come in below a path, and reports it if it has come twice.
func (e *endpoint) hears(t *testing.T, kind, below, text string) {
	t.Helper()
	late := time.After(patience)
	for {
		n, paths := 0, []string{}
		e.mu.Lock()
		for path, bodies := range e.bodies {
			paths = append(paths, path)
			for _, body := range bodies {
				if strings.HasPrefix(path, below) && strings.Contains(body, text) {
					n++
				}
			}
		}
		e.mu.Unlock()
		if n > 1 {
			t.Errorf("%s: the message came %d times", kind, n)
		}
		if n > 0 {
			return
		}
		select {
		case <-e.come:
		case <-time.After(200 * time.Millisecond): // another Provider has taken the signal
		case <-late:
			t.Fatalf("%s: nothing with %q came in below %s; there is %q", kind, text, below, paths)
		}
	}
}

// take stores what a server that is none of HTTP has got.
func (e *endpoint) take(name, body string) {
	e.mu.Lock()
	e.bodies[name] = append(e.bodies[name], body)
	e.mu.Unlock()
	e.come <- struct{}{}
}

// serveLines is a server whose clients send lines. It returns its address.
func serveLines(t *testing.T, greeting string, answer func(line string, rest *bufio.Reader) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				r := bufio.NewReader(conn)
				_, _ = io.WriteString(conn, greeting+"\r\n")
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, answer(strings.TrimSpace(line), r))
				}
			}()
		}
	}()
	return l.Addr().String()
}

// serveNATS takes messages of NATS.
func (e *endpoint) serveNATS(t *testing.T) string {
	t.Helper()
	return "nats://" + serveLines(t, `INFO {"server_id":"a","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}`, func(line string, rest *bufio.Reader) string {
		switch words := strings.Fields(line); {
		case line == "PING":
			return "PONG\r\n"
		case len(words) == 3 && words[0] == "PUB":
			size, _ := strconv.Atoi(words[2])
			body := make([]byte, size+2)
			_, _ = io.ReadFull(rest, body)
			e.take("nats", string(body))
		}
		return ""
	})
}

// serveMail takes mails.
func (e *endpoint) serveMail(t *testing.T) string {
	t.Helper()
	return "smtp://" + serveLines(t, "220 mail.example.com", func(line string, rest *bufio.Reader) string {
		switch line {
		case "QUIT":
			return "221 bye\r\n"
		case "DATA":
			return "354 go on\r\n"
		case "MIME-Version: 1.0": // in the mail
			var body strings.Builder
			for {
				text, err := rest.ReadString('\n')
				if err != nil || text == ".\r\n" {
					break
				}
				body.WriteString(text)
			}
			e.take("email", strings.ReplaceAll(body.String(), "=\r\n", ""))
			return "250 taken\r\n"
		}
		if name, _, _ := strings.Cut(line, " "); strings.HasSuffix(name, ":") || strings.HasPrefix(line, "<") { // a header
			return ""
		}
		return "250 ok\r\n"
	}) + "?starttls=off"
}
