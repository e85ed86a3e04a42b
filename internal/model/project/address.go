package project

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// normalizedAll are patterns of repositories in the form in which they are compared.
func normalizedAll(patterns []string) []string {
	out := make([]string, 0, len(patterns))
	for _, p := range patterns {
		if rest, denies := strings.CutPrefix(p, "!"); denies {
			out = append(out, "!"+normalized(rest))
			continue
		}
		out = append(out, normalized(p))
	}
	return out
}

// shortSSH is an address of a repository in the short form of SSH: git@host:path.
var shortSSH = regexp.MustCompile(`^([^/@]+@)?([^/:]+):([^/0-9].*|[0-9]+[^/0-9].*)$`)

// normalized is the address of a repository as those that mean the same are written alike (Argo CD): in lower case, without ".git", without a user,
// with the short form of SSH written out, and without percent-encoding, which is decoded before a repository is fetched.
func normalized(address string) string {
	text := strings.ToLower(strings.TrimSpace(address))
	if m := shortSSH.FindStringSubmatch(text); m != nil && !strings.Contains(text, "://") {
		text = "ssh://" + m[2] + "/" + m[3]
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "/"), ".git")
	if u, err := url.Parse(text); err == nil && !strings.HasPrefix(text, "/") { // what begins so is a regular expression, or a path of this machine
		u.User = nil
		if plain, err := url.PathUnescape(u.String()); err == nil { // a pattern keeps its stars
			return plain
		}
	}
	return text
}

// hasDotSegments reports whether the path of an address has a segment that is "." or "..": what is fetched is then another address than the one that is written.
func hasDotSegments(address string) bool {
	text := strings.ReplaceAll(normalized(address), "\\", "/")
	return slices.ContainsFunc(strings.Split(text, "/"), func(segment string) bool { return segment == "." || segment == ".." })
}

// matchesExpression reports whether a text matches a pattern that is a regular expression between slashes.
func matchesExpression(pattern, text string) bool {
	if len(pattern) < 3 || !strings.HasPrefix(pattern, "/") || !strings.HasSuffix(pattern, "/") {
		return false
	}
	ok, err := regexp.MatchString(pattern[1:len(pattern)-1], text)
	return ok && err == nil
}

// withoutCredentials is an address as it may be shown.
func withoutCredentials(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil && shortSSH.MatchString(address):
		return address
	case err != nil:
		return "(no address)"
	case u.User != nil && u.Scheme != "ssh":
		u.User = nil
		return u.String()
	}
	return address
}
