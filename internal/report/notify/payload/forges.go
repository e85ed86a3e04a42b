package payload

import (
	"net/url"
	"slices"
	"strings"
)

// gitHub writes a commit status of GitHub.
type gitHub struct{}

func (gitHub) build(t Target, c Content) (Request, error) {
	s, err := newStatus(t, c)
	if err != nil {
		return Request{}, err
	}
	if err := s.repository.need(t.Type, "https://github.com/OWNER/REPOSITORY"); err != nil {
		return Request{}, err
	}
	if t.Token == "" {
		return Request{}, missing(t.Type, "the key token in its Secret, or the keys of a GitHub App")
	}
	r, err := postJSON(gitHubAPI(s.repository)+"/repos/"+s.repository.escaped()+"/statuses/"+s.SHA, map[string]any{"state": s.State, "context": s.name, "description": s.description})
	if err == nil {
		r.Headers["Accept"] = "application/vnd.github+json"
	}
	return authorized(r, "Bearer", t.Token), err
}

// gitHubAPI is the address of the API for a repository.
func gitHubAPI(r repository) string {
	if r.server == "https://github.com" {
		return "https://api.github.com"
	}
	return r.server + "/api/v3"
}

// gitLab writes a commit status of GitLab. The path of its address is a project's ID or path.
type gitLab struct{}

func (gitLab) build(t Target, c Content) (Request, error) {
	s, err := newStatus(t, c)
	if err != nil {
		return Request{}, err
	}
	if t.Token == "" {
		return Request{}, missing(t.Type, "the key token in its Secret")
	}
	state := string(s.State)
	if s.State == Failure {
		state = "failed"
	}
	project := url.PathEscape(strings.Join(s.repository.path, "/"))
	r, err := postJSON(s.repository.server+"/api/v4/projects/"+project+"/statuses/"+s.SHA, map[string]any{"state": state, "name": s.name, "description": s.description})
	if err == nil {
		r.Headers["PRIVATE-TOKEN"] = t.Token
	}
	return r, err
}

// gitea writes a commit status of Gitea or Forgejo.
type gitea struct{}

func (gitea) build(t Target, c Content) (Request, error) {
	s, err := newStatus(t, c)
	if err != nil {
		return Request{}, err
	}
	s.repository = s.repository.belowPath()
	if err := s.repository.need(t.Type, "https://gitea.example.com/OWNER/REPOSITORY"); err != nil {
		return Request{}, err
	}
	if t.Token == "" {
		return Request{}, missing(t.Type, "the key token in its Secret")
	}
	address := s.repository.server + "/api/v1/repos/" + s.repository.escaped() + "/statuses/" + s.SHA
	r, err := postJSON(address, map[string]any{"state": s.State, "context": s.name, "description": s.description})
	return authorized(r, "token", t.Token), err
}

// buildStates are Bitbucket's words.
var buildStates = map[CommitState]string{Pending: "INPROGRESS", Success: "SUCCESSFUL", Failure: "FAILED"}

// bitbucket writes a build status of Bitbucket Cloud. The token is USERNAME:APP-PASSWORD, or an access token.
type bitbucket struct{}

func (bitbucket) build(t Target, c Content) (Request, error) {
	s, err := newStatus(t, c)
	if err != nil {
		return Request{}, err
	}
	if err := s.repository.need(t.Type, "https://bitbucket.org/WORKSPACE/REPOSITORY"); err != nil {
		return Request{}, err
	}
	if t.Token == "" {
		return Request{}, missing(t.Type, "the key token in its Secret, as USERNAME:APP-PASSWORD")
	}
	api, page := s.repository.server, s.repository.server+"/"+s.repository.escaped()+"/commits/"+s.SHA
	if api == "https://bitbucket.org" {
		api = "https://api.bitbucket.org"
	}
	r, err := postJSON(api+"/2.0/repositories/"+s.repository.escaped()+"/commit/"+s.SHA+"/statuses/build", map[string]any{
		"state": buildStates[s.State], "key": s.key(), "name": s.name, "description": s.description, "url": page,
	})
	if login, password, ok := strings.Cut(t.Token, ":"); ok {
		return authorized(r, "Basic", basicText(login, password)), err
	}
	return authorized(r, "Bearer", t.Token), err
}

// bitbucketServer writes a build status of Bitbucket Data Center. Its address is that of an HTTPS clone: https://host/scm/PROJECT/REPOSITORY.git.
type bitbucketServer struct{}

func (bitbucketServer) build(t Target, c Content) (Request, error) {
	s, err := newStatus(t, c)
	if err != nil {
		return Request{}, err
	}
	path := s.repository.path
	at := slices.Index(path, "scm")
	if at < 0 || len(path) != at+3 || strings.HasPrefix(t.Address, "ssh:") || !strings.Contains(t.Address, "://") {
		return Request{}, missing(t.Type, "an address such as https://bitbucket.example.com/scm/PROJECT/REPOSITORY.git")
	}
	base := strings.TrimSuffix(s.repository.server+"/"+escapePath(path[:at]), "/")
	project, name := url.PathEscape(path[at+1]), url.PathEscape(path[at+2])
	page := base + "/projects/" + project + "/repos/" + name + "/commits/" + s.SHA
	r, err := postJSON(base+"/rest/api/latest/projects/"+project+"/repos/"+name+"/commits/"+s.SHA+"/builds", map[string]any{
		"state": buildStates[s.State], "key": s.key(), "name": s.name, "description": s.description, "url": page,
	})
	if err != nil {
		return r, err
	}
	r.Headers["X-Atlassian-Token"] = "no-check"
	switch login := loginOf(t); {
	case t.Token != "":
		return authorized(r, "Bearer", t.Token), nil
	case login != "" && t.Password != "":
		return authorized(r, "Basic", basicText(login, t.Password)), nil
	}
	return Request{}, missing(t.Type, "the key token in its Secret, or username and password")
}

func loginOf(t Target) string {
	if t.Login != "" {
		return t.Login
	}
	return t.Username
}

// azureDevOps writes a commit status of Azure DevOps.
type azureDevOps struct{}

func (azureDevOps) build(t Target, c Content) (Request, error) {
	s, err := newStatus(t, c)
	if err != nil {
		return Request{}, err
	}
	path := s.repository.path
	at := slices.Index(path, "_git")
	if at < 1 || len(path) != at+2 {
		return Request{}, missing(t.Type, "an address such as https://dev.azure.com/ORGANISATION/PROJECT/_git/REPOSITORY")
	}
	if t.Token == "" {
		return Request{}, missing(t.Type, "the key token in its Secret, or an identity at Azure")
	}
	state := map[CommitState]string{Pending: "pending", Success: "succeeded", Failure: "failed"}[s.State]
	address := s.repository.server + "/" + escapePath(path[:at]) + "/_apis/git/repositories/" + url.PathEscape(path[at+1]) + "/commits/" + s.SHA + "/statuses?api-version=6.0"
	r, err := postJSON(address, map[string]any{
		"state": state, "description": s.description, "context": map[string]any{"name": s.name, "genre": "fluxcd"}, // policies of branches name both
	})
	if t.IsBearer {
		return authorized(r, "Bearer", t.Token), err
	}
	return authorized(r, "Basic", basicText("", t.Token)), err
}
