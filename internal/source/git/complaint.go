package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// failure is an error of which this package knows the reason.
type failure struct {
	transport.FetchError
	refuse refusal
	says   string // what the server says of it, as it came
	remote bool   // the server, or the way to it, is known to be at fault
}

func sourceError(reason source.Reason, format string, args ...any) error {
	return &failure{FetchError: transport.FetchError{Reason: reason, Err: fmt.Errorf(format, args...)}}
}

// failRemote is fail where the server, or the way to it, is at fault.
func failRemote(format string, args ...any) error {
	return &failure{FetchError: transport.FetchError{Reason: source.GitOperationFailed, Err: fmt.Errorf(format, args...)}, remote: true}
}

// remoteSigns are what git prints when it has got no answer, or none that it understands.
var remoteSigns = []string{
	"unable to access '", "RPC failed", "truce: ssh", "Could not read from remote repository", "the remote end hung up", "remote error: ", "early EOF",
	"protocol error", "is this a git repository?", "' not found", "unexpected disconnect", "invalid server response", "expected flush",
}

// refusal is how a server refuses credentials; empty if it does not.
type refusal string

// The refusals.
const (
	refusal401 refusal = "HTTP 401"
	refusal403 refusal = "HTTP 403"
	refusal404 refusal = "HTTP 404" // where credentials may not read a repository, servers say that there is none
	refusalSSH refusal = "SSH"
)

// symptoms says, by what git prints in the C locale, why it stopped. The first that is found decides.
var symptoms = []struct {
	text   string
	reason source.Reason
	refuse refusal
}{
	{sshAuthentication + sshRefused, source.AuthenticationFailed, refusalSSH},
	{sshAuthentication, source.AuthenticationFailed, ""},
	{sshHostKey, source.AuthenticationFailed, ""},
	{"Authentication failed for", source.AuthenticationFailed, refusal401},
	{"could not read Username", source.AuthenticationFailed, refusal401},
	{"could not read Password", source.AuthenticationFailed, refusal401},
	{"returned error: 401", source.AuthenticationFailed, refusal401},
	{"returned error: 403", source.AuthenticationFailed, refusal403},
	{"/' not found", source.GitOperationFailed, refusal404},
	{"CONNECT tunnel failed, response 407", source.AuthenticationFailed, ""},
	{"returned error: 407", source.AuthenticationFailed, ""},
	{"ut of memory", source.LimitExceeded, ""},
	{"annot allocate memory", source.LimitExceeded, ""},
	{"couldn't find remote ref", source.RefNotFound, ""},
	{"Server does not allow request for unadvertised object", source.RefNotFound, ""},
	{"not our ref", source.RefNotFound, ""},
}

// explain turns git's exit and what it printed into an error.
func (r runner) explain(ctx context.Context, op string, err error, stderr string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c := complaintOf(stderr)
	f := &failure{FetchError: transport.FetchError{Reason: source.GitOperationFailed, Err: fmt.Errorf("git %s: %w", op, err)}, says: c.server}
	switch text := strings.Join(c.own, "; "); {
	case text != "":
		f.Err = fmt.Errorf("git %s: %s", op, text)
	case c.server != "":
		f.Err = fmt.Errorf("git %s failed", op)
	}
	for _, s := range symptoms {
		if strings.Contains(c.judged, s.text) {
			f.Reason, f.refuse = s.reason, s.refuse
			break
		}
	}
	for _, sign := range remoteSigns {
		f.remote = f.remote || strings.Contains(c.judged, sign)
	}
	return f
}

// complaint is what git printed when it failed.
type complaint struct {
	own    []string // git's lines that say what is wrong
	server string   // the first line that the server says
	judged string   // git's lines, with what it quotes of the server's protocol
}

// complaintOf parts what git printed. What a server says stands behind "remote: ", or "remote error: " in a line of git's.
func complaintOf(stderr string) complaint {
	var c complaint
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if said, ok := strings.CutPrefix(line, "remote: "); ok {
			c.hear(said)
			continue
		}
		for _, prefix := range []string{"fatal: ", "error: ", "truce: "} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				c.judged += line + "\n"
				c.take(prefix, strings.TrimSuffix(rest, "."))
			}
		}
	}
	return c
}

// hear takes the first line that has words: Gitea's by SSH stands between lines of "error:" alone, and GitLab's between rules, each of which it calls remote, too.
func (c *complaint) hear(said string) {
	said = strings.TrimSpace(strings.TrimPrefix(said, "remote:"))
	words := strings.TrimPrefix(strings.TrimPrefix(said, "error:"), "ERROR:")
	if c.server == "" && strings.ContainsFunc(words, unicode.IsLetter) {
		c.server = said
	}
}

// take adds a line of git's; a generic one adds nothing to another.
func (c *complaint) take(prefix, line string) {
	if said, ok := strings.CutPrefix(line, "remote error: "); ok {
		c.hear(said)
		return
	}
	if line != "" && (prefix != "fatal: " || !generic(line) || len(c.own) == 0) {
		c.own = append(c.own, line)
	}
}

func generic(line string) bool {
	return strings.HasPrefix(line, "Could not read from remote repository") || strings.HasPrefix(line, "the remote end hung up")
}

// fetchError gives the error of a fetch the shape of a source.Error, for a status to show: one bounded line, without the credentials of the
// source in any form, in which the server's words are few and marked as such.
func fetchError(ctx context.Context, a address, auth source.Auth, err error) error {
	if ctx.Err() != nil {
		return &source.Error{Op: "fetch", Subject: a.String(), Reason: reasonOf(context.Cause(ctx)), Err: context.Cause(ctx)}
	}
	known := secretsOf(a, auth)
	f := &failure{FetchError: transport.FetchError{Reason: source.GitOperationFailed, Err: err}}
	_ = errors.As(err, &f) // else that
	text := f.Err.Error()
	if f.refuse != "" {
		text = f.refuse.words(a, auth)
	}
	if text = known.Line(text, transport.LongestMessage); f.says != "" {
		text += fmt.Sprintf("; the server says %q", known.Foreign(f.says, transport.LongestSaying))
	}
	if cause := f.Err; cause.Error() == text {
		return &source.Error{Op: "fetch", Subject: a.String(), Reason: f.Reason, Err: cause}
	}
	return &source.Error{Op: "fetch", Subject: a.String(), Reason: f.Reason, Err: errors.New(text)}
}

// words says whose credentials are refused.
func (r refusal) words(a address, auth source.Auth) string {
	auth.Proxy = "" // its credentials are the proxy's
	if r == refusalSSH {
		r = refusal(fmt.Sprintf("SSH, user %q", cmp.Or(a.user, auth.Username, "git")))
	}
	whose := ""
	switch {
	case auth.Secret != "" && auth != (source.Auth{Secret: auth.Secret}):
		whose = "the credentials of Secret " + auth.Secret
	case a.user != "" && a.scheme != "ssh":
		whose = "the credentials in the URL"
	case auth != (source.Auth{}):
		whose = "the credentials"
	}
	switch {
	case r == refusal404 && whose == "":
		return fmt.Sprintf("there is no such repository, or it is private: no credentials are given (%s)", r)
	case r == refusal404:
		return fmt.Sprintf("there is no such repository, or %s may not read it (%s)", whose, r)
	case whose == "":
		return fmt.Sprintf("git wants credentials, and none are given (%s)", r)
	}
	return fmt.Sprintf("git rejected %s (%s)", whose, r)
}

// secretsOf are the credentials of a source. The user of an HTTP URL may be a token.
func secretsOf(a address, auth source.Auth) redact.Known {
	_, sent, _ := strings.Cut(authorization(auth), " ")
	values := append(auth.Credentials(), a.password, sent)
	if a.scheme != "ssh" && a.password == "" {
		values = append(values, a.user)
	}
	if a.scheme != "ssh" {
		values = append(values, auth.SecretUser())
	}
	return redact.KnownOf(values...)
}
