package subscription

import (
	"net/url"
	"regexp"
	"strings"
)

// repoFunctions are those of repo. escape is what becomes of the texts of a commit, which are by others.
func (s *Subject) repoFunctions(escape func(string) string) map[string]any {
	return map[string]any{
		"RepoURLToHTTPS": repoURLToHTTPS, "FullNameByRepoURL": fullNameByRepoURL, "QueryEscape": url.QueryEscape,
		"GetCommitMetadata": func(revision string) (Commit, error) { return s.commit(revision, escape) },
	}
}

func syncFunctions() map[string]any { return map[string]any{"GetInfoItem": infoItem} }

var scpForm = regexp.MustCompile(`^(?:[^@/]+@)?([^:/]+):(.*)$`)

// repoURLToHTTPS returns the address of a repository for a browser, without credentials.
func repoURLToHTTPS(text string) string {
	text = strings.TrimSuffix(text, ".git")
	if m := scpForm.FindStringSubmatch(text); m != nil && !strings.Contains(text, "://") {
		return "https://" + m[1] + "/" + strings.TrimPrefix(m[2], "/")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	host := u.Host
	if u.Scheme == "ssh" {
		host = u.Hostname()
	}
	return "https://" + host + u.EscapedPath()
}

// fullNameByRepoURL returns OWNER/REPOSITORY.
func fullNameByRepoURL(text string) string {
	u, err := url.Parse(repoURLToHTTPS(text))
	if err != nil {
		return ""
	}
	return strings.Trim(u.Path, "/")
}

// infoItem returns a value of the info of an Application's operation.
func infoItem(app map[string]any, name string) string {
	status, _ := app["status"].(map[string]any)
	state, _ := status["operationState"].(map[string]any)
	operation, _ := state["operation"].(map[string]any)
	items, _ := operation["info"].([]any)
	for _, i := range items {
		item, _ := i.(map[string]any)
		if item["name"] == name {
			value, _ := item["value"].(string)
			return value
		}
	}
	return ""
}
