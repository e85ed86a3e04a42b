// Package upstream answers: which repository, file or chart does an entry of a kustomization name, and where does it stand in a tree?
//
// In: an entry of resources, bases, components or helmCharts, as it is written.
// Out: an Address: the repository, the reference and the directory in it, a single file, or a chart of a repository of charts; and the path at
// which a tree that was given remote resources holds it.
// Promise: pure; addresses are read as Kustomize reads them; two repositories or references never share a path; no path holds a credential.
// Not here: fetching (render/remote), what a kustomization may name (render/kustomize).
package upstream

import (
	"cmp"
	"errors"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Address is what an entry names.
type Address struct {
	URL   string // of the repository, as git takes it, of the file, or of the repository of charts; without credentials
	Ref   string // a branch, tag, commit or full reference name; empty for the server's HEAD. Of a file the content that it is pinned to, of a chart its version
	Dir   string // the directory in the repository, or in the chart, "." for its top; of a file its last name
	File  bool   // a single file that is got by HTTP
	Chart string // the name of a chart of a repository of charts; empty for everything else
}

// remote matches what Kustomize takes for a repository or a URL (api/internal/git, NewRepoSpecFromURL), and more.
var remote = regexp.MustCompile(`(?i)^(git::|gh:|(www\.)?github\.com[/:]|[a-z][a-z0-9+.-]*://|(https?|ssh|file):|[^/:@]+@[^/:@]+[:/])`)

// IsRemote reports whether an entry is an address and not a path.
func IsRemote(entry string) bool { return remote.MatchString(strings.TrimSpace(entry)) }

var (
	errFile        = errors.New("it is a file")
	errForm        = errors.New("it is no address of a git repository that Kustomize knows: https, ssh, http or file, or user@host:path")
	errCredentials = errors.New("it holds a user, who may be a credential: take that out, since only what anybody may read is fetched")
	errQuery       = errors.New("its query cannot be read")
	errOutside     = errors.New("its path leads out of the repository")
	errShape       = errors.New("it names no repository, or in a form that none has")
)

// ParseAddress reads an address as Kustomize does: git:: is dropped; github.com/owner/repository is one at GitHub; the directory follows //,
// .git, or else the first two parts of the path, or the one behind _git/; ref, or else version, says which revision. Kustomize's timeout
// and submodules are let be. (sigs.k8s.io/kustomize/api/internal/git, NewRepoSpecFromURL.) Kustomize asks any http address for a file first;
// here one is a file by its extension, by a host that has nothing but files, or where it can be no repository.
func ParseAddress(entry string) (Address, error) {
	a, err := parseRepository(entry)
	if errors.Is(err, errFile) {
		return ParseFile(entry)
	}
	return a, err
}

func parseRepository(entry string) (Address, error) {
	text, query, _ := strings.Cut(strings.TrimSpace(entry), "?")
	query, _, _ = strings.Cut(query, "#")
	text, _, _ = strings.Cut(text, "#sha256=")
	values, err := url.ParseQuery(query)
	if err != nil {
		return Address{}, errQuery
	}
	a := Address{Ref: cmp.Or(values.Get("ref"), values.Get("version"))}
	if a.Ref == "HEAD" {
		a.Ref = ""
	}
	h, rest, err := cutHost(text)
	if err != nil {
		return Address{}, err
	}
	repository, dir, err := h.split(rest)
	if err != nil {
		return Address{}, err
	}
	a.URL, a.Dir = h.text()+strings.TrimSuffix(repository, "/"), path.Clean(strings.TrimPrefix(dir, "/"))
	if a.Dir == ".." || strings.HasPrefix(a.Dir, "../") {
		return Address{}, errOutside
	}
	if back, ok := AddressOf(a.Name()); !ok || back != a {
		return Address{}, errShape
	}
	return a, nil
}

// Local reports whether the repository is one of the machine that reads the address.
func (a Address) Local() bool { return strings.HasPrefix(a.URL, "file://") }

// String is the address as a person reads it.
func (a Address) String() string {
	switch {
	case a.Chart != "":
		return a.chartString()
	case a.Ref == "":
		return a.URL
	case a.File:
		return a.URL + "#sha256=" + a.Sum()
	}
	return a.URL + "?ref=" + a.Ref
}

// host is an address up to its path.
type host struct {
	scheme, user, name string // "https://", "git@", "github.com"
	scp                bool   // user@host:path
}

func (h host) text() string {
	switch {
	case h.scheme == "file://":
		return h.scheme
	case h.scp:
		return h.user + h.name + ":"
	}
	return h.scheme + h.user + h.name + "/"
}

var userForm = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9-]*)@`)

// cutHost parts an address before its path.
func cutHost(text string) (h host, rest string, err error) {
	rest, _ = cutFold(text, "git::")
	for _, scheme := range []string{"ssh://", "https://", "http://", "file://"} {
		if after, ok := cutFold(rest, scheme); ok {
			h.scheme, rest = scheme, after
			break
		}
	}
	if h.scheme == "file://" {
		return h, rest, nil
	}
	h.user = userForm.FindString(rest)
	rest = rest[len(h.user):]
	lower := strings.ToLower(rest)
	github := strings.HasPrefix(lower, "github.com/") || strings.HasPrefix(lower, "github.com:")
	bare := h.scheme == "" && (h.user != "" || github)
	if h.scheme == "" && !bare {
		return h, "", errForm
	}
	at := strings.Index(rest, "/")
	if colon := strings.Index(rest, ":"); bare && colon > 0 && (at < 0 || colon < at) {
		at, h.scp = colon, true
	}
	if at <= 0 {
		return h, "", errForm
	}
	h.name, rest = rest[:at], rest[at+1:]
	return h.settled(github, rest)
}

// settled has GitHub's addresses in one form, as Kustomize has them, and refuses what holds credentials.
func (h host) settled(github bool, rest string) (host, string, error) {
	switch {
	case github && (h.scheme == "ssh://" || h.user != "" && h.scheme == ""):
		h = host{user: h.user, name: "github.com", scp: true}
		if h.user == "" {
			h.user = "git@"
		}
	case strings.Contains(h.name, "@"), h.user != "" && strings.HasPrefix(h.scheme, "http"):
		return h, "", errCredentials
	case github:
		h = host{scheme: "https://", name: "github.com"}
	case h.scheme == "":
		h.scp = true // of user@host/path, which Kustomize takes, git would not know what it is
	}
	return h, rest, nil
}

// split parts what follows the host into the repository and the directory in it.
func (h host) split(rest string) (repository, dir string, err error) {
	const ofGit = ".git"
	switch before, after, marked := strings.Cut(rest, "_git/"); {
	case marked:
		name, dir, _ := strings.Cut(after, "/")
		return before + "_git/" + name, dir, nil
	case strings.Contains(rest, "//"):
		repository, dir, _ = strings.Cut(rest, "//")
		return repository, dir, nil
	case strings.Contains(rest, ofGit):
		at := strings.Index(rest, ofGit) + len(ofGit)
		return rest[:at], rest[at:], nil
	case h.scheme == "file://":
		return rest, "", nil
	case strings.HasPrefix(h.scheme, "http") && (isFilePath(rest) || slices.Contains(fileHosts, strings.ToLower(h.name))):
		return "", "", errFile
	}
	parts := strings.SplitN(rest, "/", 3)
	switch {
	case len(parts) < 2 && strings.HasPrefix(h.scheme, "http"):
		return "", "", errFile
	case len(parts) < 2:
		return "", "", errShape
	}
	if len(parts) == 3 {
		dir = parts[2]
	}
	return parts[0] + "/" + parts[1], dir, nil
}

// fileHosts have files and no repositories.
var fileHosts = []string{"raw.githubusercontent.com", "gist.githubusercontent.com"}

// isFilePath reports whether the path is one that Kustomize loads as a file before it takes it for a repository's.
func isFilePath(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func cutFold(text, prefix string) (string, bool) {
	if len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
		return text[len(prefix):], true
	}
	return text, false
}
