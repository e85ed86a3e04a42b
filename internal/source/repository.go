package source

import "strings"

// RepositoryOf returns what of an address names the repository: host and path, whatever the scheme, the credentials and the query.
func RepositoryOf(url string) string {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		rest = url
	}
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "#")
	host, path, found := strings.Cut(rest, "/")
	host, begin, colon := strings.Cut(host[strings.LastIndex(host, "@")+1:], ":")
	host = strings.ToLower(host)
	switch {
	case colon && strings.Trim(begin, "0123456789") != "": // user@host:path
		host += "/" + begin
	case colon:
		host += ":" + begin
	}
	if found {
		host += "/" + path
	}
	return strings.TrimSuffix(strings.TrimRight(host, "/"), ".git")
}
