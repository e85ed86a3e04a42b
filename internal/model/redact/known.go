package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Known are credentials whose values are known, so that they are found in the forms in which a server repeats them: as they are, in
// base64, alone or within what is encoded with them, as in Basic authentication, percent-encoded, escaped as in JSON and HTML, and in hexadecimal digits.
type Known struct {
	texts  []string // longest first
	base64 []string // what base64 makes of them, without the characters that depend on what is before and after
	parts  []string // letters and digits that follow each other in them, which most encodings leave alone
}

// shortest is how long a credential is at least that is looked for: shorter ones are in any text.
const shortest = 4

// KnownOf returns what hides some credentials. Of a private key each line is one.
func KnownOf(values ...string) Known {
	var k Known
	for _, value := range values {
		k.add(value)
		for line := range strings.Lines(value) {
			k.add(line)
		}
	}
	slices.SortFunc(k.texts, func(a, b string) int { return len(b) - len(a) })
	return k
}

// KnownOrNil is KnownOf, or nil where there are no credentials.
func KnownOrNil(values []string) *Known {
	if len(values) == 0 {
		return nil
	}
	k := KnownOf(values...)
	return &k
}

func (k *Known) add(value string) {
	value = strings.TrimSpace(value)
	if len(value) < shortest {
		return
	}
	var asJSON bytes.Buffer
	plain := json.NewEncoder(&asJSON)
	plain.SetEscapeHTML(false)
	_ = plain.Encode(value) // a string in memory
	escaped, _ := json.Marshal(value)
	var percents strings.Builder
	for _, b := range []byte(value) {
		fmt.Fprintf(&percents, "%%%02x", b)
	}
	digits := hex.EncodeToString([]byte(value))
	for _, form := range []string{
		value, latin1Text(value), html.EscapeString(value), unquote(strings.TrimSpace(asJSON.String())), unquote(string(escaped)), unquote(strconv.Quote(value)), unquote(strconv.QuoteToASCII(value)),
		url.QueryEscape(value), url.PathEscape(value), url.UserPassword("", value).String()[1:], percents.String(), digits,
	} {
		for _, form := range []string{form, lowerPercents(form), upperPercents(form)} {
			if !slices.Contains(k.texts, form) {
				k.texts = append(k.texts, form)
			}
		}
	}
	k.texts = append(k.texts, strings.ToUpper(digits))
	k.addBase64(value)
	k.parts = append(k.parts, part.FindAllString(value, -1)...)
}

var part = regexp.MustCompile(`[A-Za-z0-9]{5,}`)

// latin1Text is what becomes of a value that is taken for ISO 8859-1, as git takes plain text without a charset.
func latin1Text(value string) string {
	runes := make([]rune, 0, len(value))
	for _, b := range []byte(value) {
		runes = append(runes, rune(b))
	}
	return string(runes)
}

// addBase64 adds what base64 makes of a value behind 0, 1 and 2 other bytes, which is all that may be before it.
func (k *Known) addBase64(value string) {
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
		own := encoded[(before*8+5)/6 : (before+len(value))*8/6]
		for _, form := range []string{own, strings.NewReplacer("+", "-", "/", "_").Replace(own)} {
			if len(form) >= shortest && !slices.Contains(k.base64, form) {
				k.base64 = append(k.base64, form)
			}
		}
	}
}

func unquote(s string) string { return s[1 : len(s)-1] }

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func lowerPercents(s string) string { return percent.ReplaceAllStringFunc(s, strings.ToLower) }

func upperPercents(s string) string { return percent.ReplaceAllStringFunc(s, strings.ToUpper) }

// Text is redact.MaskText without the credentials.
func (k Known) Text(s string) string {
	s = strings.Map(printable, s) // first: what is taken out must not join what is looked for
	for _, form := range k.base64 {
		s = hideBase64(s, form)
	}
	for _, form := range k.texts {
		s = strings.ReplaceAll(s, form, "***")
	}
	return MaskText(s)
}

// hideBase64 hides all of the encoded text that a form stands in: what is around it may be a part of the same credential.
func hideBase64(s, form string) string {
	var out strings.Builder
	for {
		at := strings.Index(s, form)
		if at < 0 {
			out.WriteString(s)
			return out.String()
		}
		before := strings.TrimRightFunc(s[:at], isBase64)
		out.WriteString(before)
		out.WriteString("***")
		s = strings.TrimLeftFunc(s[at+len(form):], isBase64)
	}
}

func isBase64(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+/-_=%", r)
}

// opaque are words that are too long and mixed to be read: what a server prints of them may be a credential in a form that is not known.
var opaque = regexp.MustCompile(`[A-Za-z0-9+/_=%-]{24,}`)

// Foreign returns the first line of what a server says, without the credentials and their parts, without markup and words that cannot be read,
// and no more bytes of it than most.
func (k Known) Foreign(s string, most int) string {
	s = k.Text(strings.TrimSpace(s))
	s, _, _ = strings.Cut(s, "\n")
	for _, form := range k.parts {
		s = strings.ReplaceAll(s, form, "***")
	}
	s = markup.ReplaceAllString(s, " ")
	return shorten(opaque.ReplaceAllString(s, "***"), most)
}

var markup = regexp.MustCompile(`<[^<>]*(>|$)`)

// Line returns a text on one line, without the credentials, and no more bytes of it than most.
func (k Known) Line(s string, most int) string { return shorten(k.Text(s), most) }

func shorten(s string, most int) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
