package webhook

import (
	"encoding/base64"
	"errors"
	"net/http"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
)

// The bodies have the fields that the vendors' documentation names, and nothing else.
var pushes = []struct {
	name, body string
	header     http.Header
	secrets    map[string]string
	url        string
}{
	{
		"GitHub", `{"ref":"refs/heads/main","repository":{"html_url":"https://github.com/Shop/Fleet","clone_url":"https://github.com/Shop/Fleet.git","default_branch":"main"}}`,
		http.Header{"X-Github-Event": {"push"}}, map[string]string{"webhook.github.secret": token}, "git@github.com:shop/fleet.git",
	},
	{
		"GitLab", `{"object_kind":"push","ref":"refs/heads/main","project":{"git_ssh_url":"git@gitlab.example.org:group/sub/fleet.git","web_url":"https://gitlab.example.org/group/sub/fleet","default_branch":"main"}}`,
		http.Header{"X-Gitlab-Event": {"Push Hook"}, "X-Gitlab-Token": {token}}, map[string]string{"webhook.gitlab.secret": token}, "https://gitlab.example.org/group/sub/fleet.git",
	},
	{
		"Bitbucket", `{"push":{"changes":[{"new":{"type":"tag","name":"v1"}},{"new":null},{"new":{"type":"branch","name":"main"}}]},"repository":{"links":{"html":{"href":"https://bitbucket.org/shop/fleet"}}}}`,
		http.Header{"X-Event-Key": {"repo:push"}, "X-Hook-Uuid": {token}}, map[string]string{"webhook.bitbucket.uuid": "{" + token + "}"}, "https://user@bitbucket.org/shop/fleet.git",
	},
	{
		"Bitbucket Server", `{"eventKey":"repo:refs_changed","changes":[{"ref":{"id":"refs/heads/main"}}],"repository":{"links":{"clone":[{"href":"ssh://git@bb.example.org:7999/shop/fleet.git"},{"href":"https://bb.example.org/scm/shop/fleet.git"}]}}}`,
		http.Header{"X-Event-Key": {"repo:refs_changed"}}, map[string]string{"webhook.bitbucketserver.secret": token}, "https://bb.example.org/scm/shop/fleet",
	},
	{
		"Gitea", `{"ref":"refs/heads/main","repository":{"clone_url":"https://gitea.example.org:3000/shop/fleet.git","default_branch":"main"}}`,
		http.Header{"X-Gitea-Event": {"push"}, "X-Github-Event": {"push"}, "X-Gogs-Event": {"push"}}, map[string]string{"webhook.gogs.secret": token}, "ssh://git@gitea.example.org/shop/fleet.git",
	},
	{
		"Azure DevOps", `{"eventType":"git.push","resource":{"refUpdates":[{"name":"refs/heads/main"}],"repository":{"remoteUrl":"https://dev.azure.com/org/shop/_git/fleet","defaultBranch":"refs/heads/main"}}}`,
		http.Header{"X-Vss-Activityid": {"1"}, "Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("truce:"+token))}},
		map[string]string{"webhook.azuredevops.username": "truce", "webhook.azuredevops.password": token}, "https://org@dev.azure.com/org/shop/_git/fleet",
	},
}

func signed(h http.Header, name, body string) http.Header {
	h = h.Clone()
	switch name {
	case "GitHub":
		h.Set("X-Hub-Signature-256", "sha256="+mac("sha256", token, body))
	case "Bitbucket Server":
		h.Set("X-Hub-Signature", "sha256="+mac("sha256", token, body))
	case "Gitea":
		h.Set("X-Gitea-Signature", mac("sha256", token, body))
	}
	return h
}

func TestAPushOfEachServerIsVerifiedAndRead(t *testing.T) {
	for _, c := range pushes {
		p, err := ReadPush(signed(c.header, c.name, c.body), []byte(c.body), c.secrets)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for ref, want := range map[source.Ref]bool{
			{Branch: "main"}: true, {Any: "main"}: true, {Name: "HEAD"}: true, {}: true, {Name: "refs/heads/main"}: true,
			{Branch: "other"}: false, {Tag: "main"}: false, {Commit: "0123456789012345678901234567890123456789"}: false, {SemVer: ">=1"}: c.name == "Bitbucket", {Tag: "v1"}: c.name == "Bitbucket",
		} {
			if got := p.Concerns(source.Spec{URL: c.url, Ref: ref}); got != want {
				t.Errorf("%s: %+v: %v", c.name, ref, got)
			}
		}
		for _, other := range []string{"", ".*", c.url + "2", "https://other.example.org/shop/fleet", "file:///shop/fleet"} {
			if p.Concerns(source.Spec{URL: other}) {
				t.Errorf("%s: %q is taken for the repository", c.name, other)
			}
		}
		if _, err := ReadPush(c.header, []byte(c.body), nil); err != nil {
			t.Errorf("%s without any secret: %v", c.name, err)
		}
		wrong := map[string]string{}
		for key := range c.secrets {
			wrong[key] = "other"
		}
		for why, secrets := range map[string]map[string]string{"another secret": wrong, "the secret of another server": {"webhook.unknown": "x", otherKey(c.secrets): "x"}} {
			if _, err := ReadPush(signed(c.header, c.name, c.body), []byte(c.body), secrets); !errors.Is(err, ErrUnverified) {
				t.Errorf("%s with %s: %v", c.name, why, err)
			}
		}
	}
	if _, err := ReadPush(http.Header{}, []byte("{}"), nil); !errors.Is(err, ErrUnverified) {
		t.Errorf("a request of an unknown sender: %v", err)
	}
}

func otherKey(than map[string]string) string {
	if _, is := than["webhook.github.secret"]; is {
		return "webhook.gitlab.secret"
	}
	return "webhook.github.secret"
}

// FuzzPush: no body and no address makes it panic.
func FuzzPush(f *testing.F) {
	for _, c := range pushes {
		f.Add(c.body, c.url)
	}
	f.Fuzz(func(t *testing.T, body, url string) {
		for _, c := range pushes {
			p, err := ReadPush(c.header, []byte(body), nil)
			if err == nil {
				p.Concerns(source.Spec{URL: url, Ref: source.ParseRef(body[:min(len(body), 20)])})
			}
		}
	})
}
