package upstream

import (
	"encoding/hex"
	"errors"
	"net/url"
	"path"
	"strings"
)

// fileScheme marks, in the path at which a tree holds it, a file that is fetched by itself.
const fileScheme = "-file"

// pinForm begins the Ref of a file that an entry pins to its content.
const pinForm = "sha256:"

var (
	errPin      = errors.New("its #sha256= is no SHA-256 in hexadecimal digits")
	errFileForm = errors.New("it is no address of a file")
)

// ParseFile reads an address of a single file, which is got by HTTP as Kustomize and Helm get it. #sha256= behind it pins the content; they do not send
// that, and so read the same file.
func ParseFile(entry string) (Address, error) {
	text, pin, pinned := strings.Cut(strings.TrimSpace(entry), "#")
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Address{}, errFileForm
	}
	if u.User != nil {
		return Address{}, errCredentials
	}
	a := Address{File: true, Dir: path.Base(u.Path)}
	if a.Dir == "/" || a.Dir == "." {
		return Address{}, errShape
	}
	if sum, isPin := strings.CutPrefix(pin, "sha256="); isPin {
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 32 {
			return Address{}, errPin
		}
		a.Ref = pinForm + strings.ToLower(sum)
	} else if pinned && pin != "" {
		return Address{}, errFileForm
	}
	a.URL = u.Scheme + "://" + strings.ToLower(u.Host) + u.EscapedPath()
	if u.RawQuery != "" {
		a.URL += "?" + u.RawQuery
	}
	if back, ok := AddressOf(a.Name()); !ok || back != a {
		return Address{}, errShape
	}
	return a, nil
}

// lastName is the name of the file that an address leads to.
func lastName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "."
	}
	return path.Base(u.Path)
}

// Sum is the SHA-256 in hexadecimal digits to which a file is pinned; empty for none.
func (a Address) Sum() string {
	sum, _ := strings.CutPrefix(a.Ref, pinForm)
	if !a.File {
		return ""
	}
	return sum
}

// IsPinned reports whether the address always means the same content: a file with its SHA-256, a commit by its full hash, or one version of a chart,
// which a repository does not publish twice.
func (a Address) IsPinned() bool {
	if a.Chart != "" {
		return exactVersion.MatchString(a.Ref) || namedForm.MatchString(a.Ref) && a.Ref[0] == '@'
	}
	if a.File {
		return a.Ref != ""
	}
	_, err := hex.DecodeString(a.Ref)
	return err == nil && (len(a.Ref) == 40 || len(a.Ref) == 64)
}

// Host is the server's name with its port, as the address names it; empty for a repository of this machine.
func (a Address) Host() string {
	if scheme, rest, ok := strings.Cut(a.URL, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		if scheme == "file" {
			return ""
		}
		return host[strings.LastIndex(host, "@")+1:]
	}
	host, _, _ := strings.Cut(a.URL, ":")
	return host[strings.LastIndex(host, "@")+1:]
}

// fileName is the path below Directory of a file that is fetched by itself: the address is a directory that holds it.
func (a Address) fileName() string {
	scheme, rest, _ := strings.Cut(a.URL, "://")
	rest, query, asked := strings.Cut(rest, "?")
	parts := strings.Split(rest, "/")
	for i := range parts[1:] {
		parts[i+1] = inSegment.Replace(parts[i+1])
	}
	name := strings.Join(parts, "/")
	if asked {
		name += "?" + inQuery.Replace(query)
	}
	ref := "HEAD"
	if a.Ref != "" {
		ref = a.Ref
	}
	return scheme + fileScheme + "/" + name + "@" + ref + "/" + a.Dir
}

var inQuery = strings.NewReplacer("%", "%25", "@", "%40", "/", "%2F")
