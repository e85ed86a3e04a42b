package webhook

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
)

// Push says that references of a repository have moved.
type Push struct {
	URLs    []string // of the repository, as its server names it
	Refs    []string // full names
	Default string   // the branch that HEAD names; empty if it is not said
}

// gitServer says how the webhooks of a Git server are recognised and verified at Argo CD's endpoint, by the keys of argocd-secret.
type gitServer struct {
	header string // that only it sends
	keys   []string
	form   gitForm
}

// gitForm verifies a request, and reads its body.
type gitForm interface {
	verify(secrets []string, header Header, body []byte) error
	push(body map[string]any) Push
}

// gitServers are in the order in which they are tried: some send the headers of others, too.
var gitServers = []gitServer{
	{"X-Vss-Activityid", []string{"webhook.azuredevops.username", "webhook.azuredevops.password"}, azureForm{}},
	{"X-Gitea-Event", []string{"webhook.gogs.secret"}, gogsForm{}},
	{"X-Gogs-Event", []string{"webhook.gogs.secret"}, gogsForm{}},
	{"X-GitHub-Event", []string{"webhook.github.secret"}, gitHubForm{}},
	{"X-Gitlab-Event", []string{"webhook.gitlab.secret"}, gitLabForm{}},
	{"X-Hook-UUID", []string{"webhook.bitbucket.uuid"}, bitbucketForm{}},
	{"X-Event-Key", []string{"webhook.bitbucketserver.secret"}, bitbucketServerForm{}},
}

type (
	azureForm           struct{}
	gogsForm            struct{ gitHubForm } // Gogs and Gitea
	gitHubForm          struct{}
	gitLabForm          struct{}
	bitbucketForm       struct{}
	bitbucketServerForm struct{}
)

func (gitHubForm) verify(secrets []string, header Header, body []byte) error {
	return VerifySender(gitHub, secrets[0], header, body)
}

func (gitLabForm) verify(secrets []string, header Header, body []byte) error {
	return VerifySender(gitLab, secrets[0], header, body)
}

func (bitbucketServerForm) verify(secrets []string, header Header, body []byte) error {
	return VerifySender(bitbucket, secrets[0], header, body)
}

func (gogsForm) verify(secrets []string, header Header, body []byte) error {
	for _, name := range []string{"X-Gitea-Signature", "X-Gogs-Signature"} {
		if sum := header.Get(name); sum != "" {
			return verifyHMAC("sha256", sum, secrets[0], signedByGitea(header, body))
		}
	}
	return errUnsigned
}

func (bitbucketForm) verify(secrets []string, header Header, _ []byte) error {
	return equalSecret(strings.Trim(header.Get("X-Hook-UUID"), "{}"), strings.Trim(secrets[0], "{}"))
}

func (azureForm) verify(secrets []string, header Header, _ []byte) error {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(secrets[0]+":"+secrets[1]))
	return equalSecret(header.Get("Authorization"), want)
}

// ReadPush verifies a request to Argo CD's endpoint by the data of argocd-secret, and then reads its body. Without any secret of a webhook there
// all requests pass, as in Argo CD; with one, those of other servers do not: ErrUnverified.
func ReadPush(header Header, body []byte, secrets map[string]string) (Push, error) {
	for _, s := range gitServers {
		if header.Get(s.header) == "" {
			continue
		}
		if err := s.verify(header, body, secrets); err != nil {
			return Push{}, err
		}
		read, err := Payload(gitHub, header, body)
		fields, _ := read.(map[string]any)
		return s.form.push(fields), err
	}
	return Push{}, ErrUnverified
}

func (s gitServer) verify(header Header, body []byte, secrets map[string]string) error {
	var values []string
	for _, key := range s.keys {
		if secrets[key] != "" {
			values = append(values, secrets[key])
		}
	}
	switch {
	case len(values) == len(s.keys):
		return s.form.verify(values, header, body)
	case hasSecret(secrets):
		return ErrUnverified
	}
	return nil
}

// hasSecret reports whether a secret of any Git server's webhooks is there.
func hasSecret(secrets map[string]string) bool {
	for _, s := range gitServers {
		for _, key := range s.keys {
			if secrets[key] != "" {
				return true
			}
		}
	}
	return false
}

// stringAt returns a text within decoded JSON; empty for none.
func stringAt(v any, keys ...string) string {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	text, _ := v.(string)
	return text
}

func listAtPath(v map[string]any, keys ...string) []any {
	for _, key := range keys[:len(keys)-1] {
		v, _ = v[key].(map[string]any)
	}
	list, _ := v[keys[len(keys)-1]].([]any)
	return list
}

func (gitHubForm) push(b map[string]any) Push {
	p := Push{Refs: []string{stringAt(b, "ref")}, Default: stringAt(b, "repository", "default_branch")}
	for _, key := range []string{"html_url", "clone_url", "ssh_url"} {
		p.URLs = append(p.URLs, stringAt(b, "repository", key))
	}
	return p
}

func (gitLabForm) push(b map[string]any) Push {
	p := Push{Refs: []string{stringAt(b, "ref")}, Default: stringAt(b, "project", "default_branch")}
	for _, key := range []string{"web_url", "git_http_url", "git_ssh_url"} {
		p.URLs = append(p.URLs, stringAt(b, "project", key))
	}
	return p
}

func (bitbucketForm) push(b map[string]any) Push {
	p := Push{URLs: []string{stringAt(b, "repository", "links", "html", "href")}}
	for _, c := range listAtPath(b, "push", "changes") {
		kind := "refs/heads/"
		if stringAt(c, "new", "type") == "tag" {
			kind = "refs/tags/"
		}
		p.Refs = append(p.Refs, kind+stringAt(c, "new", "name"))
	}
	return p
}

func (bitbucketServerForm) push(b map[string]any) Push {
	var p Push
	for _, link := range listAtPath(b, "repository", "links", "clone") {
		p.URLs = append(p.URLs, stringAt(link, "href"))
	}
	for _, c := range listAtPath(b, "changes") {
		p.Refs = append(p.Refs, stringAt(c, "ref", "id"))
	}
	return p
}

func (azureForm) push(b map[string]any) Push {
	p := Push{URLs: []string{stringAt(b, "resource", "repository", "remoteUrl")}}
	p.Default = strings.TrimPrefix(stringAt(b, "resource", "repository", "defaultBranch"), "refs/heads/")
	for _, u := range listAtPath(b, "resource", "refUpdates") {
		p.Refs = append(p.Refs, stringAt(u, "name"))
	}
	return p
}

// Concerns reports whether a source of Git follows what was pushed.
func (p Push) Concerns(s source.Spec) bool {
	if s.Kind != source.Git {
		return false
	}
	at := sameRepository(s.URL)
	if at == "" {
		return false
	}
	for _, u := range p.URLs {
		if sameRepository(u) == at {
			return p.moves(s.Ref)
		}
	}
	return false
}

// sameRepository returns what all addresses of a repository have in common: host and path, whatever the protocol, user and port.
func sameRepository(address string) string {
	if host, path, ok := strings.Cut(address, ":"); ok && !strings.Contains(address, "://") && !strings.Contains(host, "/") { // user@host:path
		address = "ssh://" + host + "/" + path
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	path := strings.TrimSuffix(strings.ToLower(strings.Trim(u.Path, "/")), ".git")
	if path == "" {
		return ""
	}
	return strings.ToLower(u.Hostname()) + "/" + path
}

// moves reports whether a reference may name another commit after the push.
func (p Push) moves(r source.Ref) bool {
	return r.Commit == "" && slices.ContainsFunc(p.Refs, func(ref string) bool { return p.movesBy(ref, r) })
}

// movesBy is moves of one reference that was pushed.
func (p Push) movesBy(ref string, r source.Ref) bool {
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	tag, isTag := strings.CutPrefix(ref, "refs/tags/")
	switch {
	case r.Name == "HEAD" || r == (source.Ref{}):
		return isBranch && (p.Default == "" || p.Default == branch)
	case r.Name != "":
		return r.Name == ref
	case r.SemVer != "":
		return isTag
	case r.Tag != "":
		return isTag && tag == r.Tag
	case r.Branch != "":
		return isBranch && branch == r.Branch
	}
	return isBranch && branch == r.Any || isTag && tag == r.Any
}
