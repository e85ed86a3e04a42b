package redact

import (
	"bytes"
	"cmp"
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
	"sync"
)

// Known are credentials whose values are known, so that they are found in the forms in which a server repeats them: as they are, in
// base64, alone or within what is encoded with them, as in Basic authentication, percent-encoded, escaped as in JSON and HTML, and in hexadecimal digits.
//
// The forms are made when a text is first looked at: most credentials are never in one.
type Known struct{ forms *knownForms }

// knownForms are what is looked for.
type knownForms struct {
	once   sync.Once
	values []string // until the forms are made

	texts  []string // longest first
	base64 []string // what base64 makes of them, without the characters that depend on what is before and after
	parts  []string // letters and digits that follow each other in them, which most encodings leave alone
}

// shortest is how long a credential is at least that is looked for: shorter ones are in any text.
const shortest = 4

// mostLines is how many lines a credential has at most that are looked for one by one: what has more is data, of which no message repeats a line.
const mostLines = 10_000

// KnownOf returns what hides some credentials. Of a private key each line is one.
func KnownOf(values ...string) Known {
	return Known{&knownForms{values: slices.Clone(values)}}
}

// made returns the forms of the values.
func (k Known) made() *knownForms {
	if k.forms == nil {
		return &knownForms{}
	}
	k.forms.once.Do(k.forms.addAll)
	return k.forms
}

func (f *knownForms) addAll() {
	seen := map[string]bool{}
	add := func(value string) {
		if value = strings.TrimSpace(value); len(value) >= shortest && !seen[value] {
			seen[value] = true
			f.add(value)
		}
	}
	for _, value := range f.values {
		add(value)
		f.parts = append(f.parts, part.FindAllString(value, -1)...)
		if strings.Count(value, "\n") > mostLines {
			continue
		}
		for line := range strings.Lines(value) {
			add(line)
		}
	}
	slices.SortFunc(f.texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	f.texts, f.values = slices.Compact(f.texts), nil
}

// KnownOrNil is KnownOf, or nil where there are no credentials.
func KnownOrNil(values []string) *Known {
	if len(values) == 0 {
		return nil
	}
	k := KnownOf(values...)
	return &k
}

func (f *knownForms) add(value string) {
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
	forms := []string{strings.ToUpper(digits)}
	for _, form := range []string{
		value, latin1Text(value), html.EscapeString(value), unquote(strings.TrimSpace(asJSON.String())), unquote(string(escaped)), unquote(strconv.Quote(value)), unquote(strconv.QuoteToASCII(value)),
		url.QueryEscape(value), url.PathEscape(value), url.UserPassword("", value).String()[1:], percents.String(), digits,
	} {
		for _, form := range []string{form, lowerPercents(form), upperPercents(form)} {
			if !slices.Contains(forms, form) {
				forms = append(forms, form)
			}
		}
	}
	f.texts = append(f.texts, forms...)
	f.addBase64(value)
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
func (f *knownForms) addBase64(value string) {
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
		own := encoded[(before*8+5)/6 : (before+len(value))*8/6]
		if len(own) < shortest {
			continue
		}
		f.base64 = append(f.base64, own)
		if inURL := strings.NewReplacer("+", "-", "/", "_").Replace(own); inURL != own {
			f.base64 = append(f.base64, inURL)
		}
	}
}

func unquote(s string) string { return s[1 : len(s)-1] }

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func lowerPercents(s string) string { return percent.ReplaceAllStringFunc(s, strings.ToLower) }

func upperPercents(s string) string { return percent.ReplaceAllStringFunc(s, strings.ToUpper) }

// Text is redact.MaskText without the credentials.
func (k Known) Text(s string) string {
	forms := k.made()
	s = strings.Map(printable, s) // first: what is taken out must not join what is looked for
	for _, form := range forms.base64 {
		s = hideBase64(s, form)
	}
	for _, form := range forms.texts {
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
	for _, form := range k.made().parts {
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
