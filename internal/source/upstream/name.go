package upstream

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Directory is where a tree holds remote bases. It is not among what the tree lists; a tree in which it is not there gives no remote bases.
const Directory = ".remote-bases"

// maxNameLength bounds a part of a path, as file systems do.
const maxNameLength = 200

// Name is where a tree holds the files: .remote-bases/https/github.com/owner/repository@v1/directory. It is no valid path where the
// address cannot be written as one.
func (a Address) Name() string {
	if a.File {
		return Directory + "/" + a.fileName()
	}
	scheme, rest, ok := strings.Cut(a.URL, "://")
	if !ok {
		scheme, rest = "scp", strings.Replace(a.URL, ":", "/", 1)
	}
	if a.Chart != "" {
		scheme, rest = scheme+chartScheme, rest+"/"+a.Chart
	}
	var parts []string
	if scheme != "file" {
		authority, after, _ := strings.Cut(rest, "/")
		parts, rest = []string{authority}, after
	} else {
		rest = strings.TrimPrefix(rest, "/")
	}
	for part := range strings.SplitSeq(rest, "/") {
		parts = append(parts, inSegment.Replace(part))
	}
	ref := "HEAD"
	if a.Ref != "" {
		ref = inRef.Replace(a.Ref)
	}
	top := strings.Join(append([]string{Directory, scheme}, parts...), "/") + "@" + ref
	if a.Dir == "." {
		return top
	}
	return top + "/" + a.Dir
}

var (
	inSegment  = strings.NewReplacer("%", "%25", "@", "%40")
	outSegment = strings.NewReplacer("%25", "%", "%40", "@", "%2F", "/")
	inRef      = strings.NewReplacer("%", "%25", "/", "%2F")
	outRef     = strings.NewReplacer("%25", "%", "%2F", "/")
)

// RepositoryRoot is the directory of a tree that holds the repository which a path is in; empty for a path that is in no remote base.
func RepositoryRoot(name string) string {
	below, ok := strings.CutPrefix(name, Directory+"/")
	if !ok || !fs.ValidPath(name) {
		return ""
	}
	parts := strings.Split(below, "/")
	first := 2 // behind the scheme and the host
	if parts[0] == "file" {
		first = 1
	}
	for i := first; i < len(parts); i++ {
		if strings.Contains(parts[i], "@") {
			return path.Join(Directory, path.Join(parts[:i+1]...))
		}
	}
	return ""
}

// DisplayName is what a person calls a file of a remote base: deploy/web.yaml:5:3 of https://github.com/owner/repository?ref=v1. A line or column of
// 0 is left out. A path that is in no remote base stays as it is.
func DisplayName(name string, line, column int) string {
	top := RepositoryRoot(name)
	out := strings.TrimPrefix(strings.TrimPrefix(name, top), "/")
	for _, n := range []int{line, column} {
		if n == 0 {
			break
		}
		out += ":" + strconv.Itoa(n)
	}
	a, remote := AddressOf(top)
	switch {
	case !remote:
		return out
	case a.File:
		return a.String() + strings.TrimPrefix(out, a.Dir)
	case out == "":
		return a.String()
	}
	return out + " of " + a.String()
}

// AddressOf is the address of what a path of a tree holds; false for a path that is in no remote base.
func AddressOf(name string) (Address, bool) {
	top := RepositoryRoot(name)
	if top == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return Address{}, false
	}
	parts := strings.Split(top, "/")[1:]
	if slices.ContainsFunc(parts, func(s string) bool { return len(s) > maxNameLength }) {
		return Address{}, false
	}
	last, ref, _ := strings.Cut(parts[len(parts)-1], "@")
	parts[len(parts)-1] = last
	a := Address{Ref: outRef.Replace(ref), Dir: "."}
	if a.Ref == "HEAD" {
		a.Ref = ""
	}
	if name != top {
		a.Dir = strings.TrimPrefix(name, top+"/")
	}
	scheme, rest := parts[0], parts[1:]
	if web, ok := strings.CutSuffix(scheme, fileScheme); ok {
		scheme, a.File = web, true
	}
	if of, ok := strings.CutSuffix(scheme, chartScheme); ok && len(rest) > 1 {
		scheme, rest, a.Chart = of, rest[:len(rest)-1], last
	}
	from := min(1, len(rest))
	if scheme == "file" {
		from = 0
	}
	for i := from; i < len(rest); i++ {
		rest[i] = outSegment.Replace(rest[i])
	}
	switch scheme {
	case "file":
		a.URL = "file:///" + strings.Join(rest, "/")
	case "scp":
		a.URL = rest[0] + ":" + strings.Join(rest[1:], "/")
	default:
		a.URL = scheme + "://" + strings.Join(rest, "/")
	}
	if a.File && name == top {
		a.Dir = lastName(a.URL)
	}
	return a, last != "" && ref != ""
}

// JoinEntry is where an entry of a kustomization in a directory leads: to the place of a remote base, or else below the directory.
func JoinEntry(dir, entry string) string {
	if IsRemote(entry) {
		if a, err := ParseAddress(entry); err == nil {
			return a.Name()
		}
	}
	return path.Join(dir, entry)
}
