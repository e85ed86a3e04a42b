// Package redact answers: what of it may a person read?
//
// In: values, messages and addresses on their way to a log, a status, an event, a page or a terminal.
// Out: the same without what only a Secret may hold: equal secrets still look equal, different ones different.
// Promise: pure; a Secret's values are in no output, whatever the path that led there; what cannot be judged is masked.
// Not here: who may ask (the API server's RBAC), keeping secrets (nowhere).
package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Mask turns secret values into comparable marks, under a key that only this process knows. The zero Mask hides without comparing.
type Mask struct {
	Key       []byte
	sensitive Sensitive // of the one object that With was called for
}

// IsSecret reports whether the object's values must be masked.
func IsSecret(id object.ID) bool { return id.Group == "" && id.Kind == "Secret" }

// Value returns the value of one field as a person may see it. Of a Secret, only what is under metadata and type is open,
// and of its metadata not what others have copied its content into. Of another object the fields are masked that With names. The empty path is
// the whole object, in the form of Object.
func (m Mask) Value(id object.ID, p field.Path, v any) any {
	switch {
	case v == nil:
		return v
	case !IsSecret(id):
		return m.cover(p, v)
	case isOpenField(p):
		return v
	}
	if whole, ok := v.(map[string]any); ok && len(p) == 0 && IsSecret(object.Object(whole).ID()) {
		masked, _ := m.Object(whole)
		return map[string]any(masked)
	}
	return m.deep(v)
}

func isOpenField(p field.Path) bool {
	if len(p) == 0 || p[0].FieldName == nil {
		return false
	}
	switch *p[0].FieldName {
	case "type", "immutable", "apiVersion", "kind":
		return true
	case "metadata":
		return len(p) > 1 && p[1].FieldName != nil && *p[1].FieldName != "annotations"
	}
	return false
}

func (m Mask) deep(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = m.deep(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = m.deep(e)
		}
		return out
	}
	return m.mark(fmt.Sprint(v))
}

// hiddenMark is how every mark begins.
const hiddenMark = "***"

func (m Mask) mark(s string) string {
	if len(m.Key) == 0 {
		return hiddenMark
	}
	h := hmac.New(sha256.New, m.Key)
	h.Write([]byte(s))
	return hiddenMark + " (" + hex.EncodeToString(h.Sum(nil)[:4]) + ")"
}

// Message returns what the server said about an object, without what it may quote of a Secret: there, everything between
// quotes, and everything behind the first word with which the API machinery introduces a value, is masked.
func Message(id object.ID, text string) string {
	text = MaskText(text)
	if !IsSecret(id) {
		return text
	}
	return hideIntroduced(text)
}

// hideIntroduced hides what a message quotes, and what stands behind the first word that introduces a value.
func hideIntroduced(text string) string {
	text = quoted.ReplaceAllString(text, `"***"`)
	return introduced.ReplaceAllString(text, "${1}***")
}

var (
	quoted     = regexp.MustCompile("(?s)\"(?:[^\"\\\\]|\\\\.)*(?:\"|$)|`[^`]*(?:`|$)")
	introduced = regexp.MustCompile(`(?s)((?i:value):? ?|got |\.\.\.\|).+`)

	credentials = regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://)[^\s"'<>]*@`)
	parameters  = regexp.MustCompile(`(?i)([?&](?:sig|token|access_token|private_token|key|password|secret|x-amz-[a-z-]+)=)[^&\s"']+`)
	headers     = regexp.MustCompile(`(?i)\b(authorization:[ \t]*[a-z]+|bearer)[ \t]+[^\s"']{8,}`)
	privateKeys = regexp.MustCompile(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

// MaskText returns a message without credentials in addresses and headers, without private keys, and without what a terminal
// would take as a command or as a change of the reading direction.
func MaskText(s string) string {
	s = Printable(s) // first: what is taken out must not join what is looked for
	s = privateKeys.ReplaceAllString(s, "${1} *** ${2}")
	s = credentials.ReplaceAllString(s, "${1}***@")
	s = parameters.ReplaceAllString(s, "${1}***")
	return headers.ReplaceAllString(s, "${1} ***")
}

// Printable returns a text without what a terminal would take as a command or as a change of the reading direction.
func Printable(s string) string { return strings.Map(printable, s) }

func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return -1
	}
	return r
}
