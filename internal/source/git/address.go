package git

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// address is a checked URL.
type address struct {
	scheme   string // file, http, https, ssh
	user     string
	password string // of the URL's user part; never printed
	host     string // with port, if any
	path     string // of the scp form: without a leading slash, relative to what the server chooses
}

var (
	// Hosts may not begin with "-": they become arguments.
	hostForm = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)(:[0-9]{1,5})?$`)
	// A host whose last label is a number is an IPv4 address to curl and C libraries, in forms that Go does not read: 127.1, 0x7f000001.
	numberForm = regexp.MustCompile(`(?i)(^|\.)(0x[0-9a-f]*|[0-9]+)$`)
	userForm   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+@-]*$`)
	// helper::address makes git run git-remote-helper, see gitremote-helpers(7).
	helperForm = regexp.MustCompile(`^[A-Za-z0-9+.-]*::`)
	// The scp form has no "//", and a first part that is no drive letter.
	scpForm = regexp.MustCompile(`^(?:([^@:/]+)@)?([^:/@]{2,}):([^:].*)$`)
)

// parseAddress accepts the documented forms and nothing else. It returns what may be shown also with an error.
func parseAddress(raw string) (address, error) {
	switch {
	case raw == "":
		return address{}, errors.New("the URL is empty")
	case strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return address{}, errors.New("the URL has control characters")
	case strings.HasPrefix(raw, "-"):
		return address{}, errors.New(`the URL begins with "-"`)
	case strings.HasPrefix(raw, "/"), raw == ".", raw == "..", strings.HasPrefix(raw, "./"), strings.HasPrefix(raw, "../"):
		return address{scheme: "file", path: path.Clean(raw)}, nil
	case helperForm.MatchString(raw):
		return address{}, errors.New(`transports of the form "helper::address" are not allowed`)
	case strings.Contains(raw, "://"):
		return parseURL(raw)
	}
	m := scpForm.FindStringSubmatch(raw)
	if m == nil {
		return address{}, errors.New("not an absolute path, a URL, or user@host:path")
	}
	a := address{scheme: "ssh", user: m[1], host: m[2], path: m[3]}
	return a, a.check()
}

func parseURL(raw string) (address, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return address{}, errors.New("the URL is malformed") // url.Error would show a password
	}
	a := address{scheme: strings.ToLower(u.Scheme), host: u.Host, path: u.Path}
	if path := strings.TrimRight(u.Path, "/"); path != "" {
		a.path = path // git asks for the same files with a slash at the end, and without
	}
	if u.User != nil {
		a.user = u.User.Username()
		a.password, _ = u.User.Password()
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return a, errors.New("the URL has a query or a fragment")
	}
	return a, a.check()
}

func (a address) check() error {
	if a.path == "" {
		return errors.New("the URL has no path")
	}
	if strings.ContainsFunc(a.path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("the path has control characters")
	}
	switch a.scheme {
	case "file":
		if a.host != "" && a.host != "localhost" {
			return fmt.Errorf("a file URL names the host %q", a.host)
		}
		return nil
	case "http", "https", "ssh":
	default:
		return fmt.Errorf("the scheme %q is not allowed: use https, ssh, http or file", a.scheme)
	}
	if !hostForm.MatchString(a.host) || numberForm.MatchString(a.hostname()) && net.ParseIP(a.hostname()) == nil {
		return fmt.Errorf("the host %q is malformed", a.host)
	}
	if a.scheme == "ssh" && a.user != "" && !userForm.MatchString(a.user) {
		return errors.New("the user is malformed")
	}
	if a.scheme == "ssh" && strings.HasPrefix(strings.TrimPrefix(a.path, "/"), "-") {
		return errors.New(`the path begins with "-"`)
	}
	return nil
}

func (a address) local() bool { return a.scheme == "file" }

// String is what may be shown and passed to git: without any credential. The user of an HTTP URL can be a token.
func (a address) String() string {
	switch {
	case a.scheme == "":
		return "git repository"
	case a.local():
		return a.path
	case !strings.HasPrefix(a.path, "/"):
		return strings.TrimPrefix(a.user+"@", "@") + a.host + ":" + a.path
	}
	u := url.URL{Scheme: a.scheme, Host: a.host, Path: a.path}
	if a.scheme == "ssh" && a.user != "" {
		u.User = url.User(a.user)
	}
	return u.String()
}

// origin is the scope of credentials in git's configuration.
func (a address) origin() string { return a.scheme + "://" + a.host }
