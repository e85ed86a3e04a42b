package reader

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// ReadEnum reads an annotation that must be one of a few words, "" if it is not there or none of them.
func ReadEnum[T ~string](r *Reader, cr object.Object, key string, words ...T) T {
	text, there := cr.Annotation(key)
	if !there || slices.Contains(words, T(text)) {
		return T(text)
	}
	list := strings.Trim(fmt.Sprint(words), "[]")
	r.Problem("annotation "+key, "want one of %s, not %q", strings.ReplaceAll(list, " ", ", "), text)
	return ""
}

// UnknownAnnotations returns annotations that begin with a prefix and are none of the known, which may be a typing error.
func (r *Reader) UnknownAnnotations(cr object.Object, prefix, why string, known []string) {
	all, _ := cr.At("metadata", "annotations").(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(key, prefix) && !slices.Contains(known, key) {
			r.Note("annotation %s has no effect%s", key, why)
		}
	}
}

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

const longestLabel = 63

// Namespace reads the name of a namespace; the empty text is none.
func (r *Reader) Namespace(field, name string) string {
	if name != "" && (len(name) > longestLabel || !dnsLabel.MatchString(name)) {
		r.Problem(field, "%q is no name of a namespace", name)
	}
	return name
}

// scpForm is git's user@host:path.
var scpForm = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:[^:]`)

// IsSCPAddress reports whether an address is written as git's user@host:path.
func IsSCPAddress(text string) bool { return scpForm.MatchString(text) }

// Address refuses what no fetch can make sense of, and reports whether the address holds credentials: everybody who can read the
// custom resource sees them. The address itself is in no message.
func (r *Reader) Address(field, text string) (credentials bool) {
	switch {
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.Problem(field, "holds a control character")
		return false
	case strings.HasPrefix(text, "/"), strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"):
		return false
	case !strings.Contains(text, "://") && IsSCPAddress(text):
		return false
	}
	u, err := url.Parse(text)
	if err != nil {
		r.Problem(field, "is not a URL")
		return false
	}
	switch u.Scheme {
	case "http", "https", "ssh":
		if u.Hostname() == "" {
			r.Problem(field, "names no host")
		}
	case "file":
	default:
		r.Problem(field, "want http://, https://, ssh://, user@host:path, file:// or an absolute path")
	}
	return u.User != nil && u.Scheme != "ssh"
}
