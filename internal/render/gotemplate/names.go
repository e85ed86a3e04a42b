package gotemplate

import (
	"regexp"
	"strings"
)

var notInNames = regexp.MustCompile(`[^a-z0-9.-]`)

// SanitizeName returns a text that can be a name (argo-cd SanitizeName).
func SanitizeName(text string) string {
	const longest = 253
	text = notInNames.ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(text[:min(len(text), longest)], "-.")
}

var notInSlugs = regexp.MustCompile(`[^a-z0-9_]+`)

// slugName is a name without dots, of at most a number of letters, cut before a word where that is wanted (argo-cd SlugifyName, gosimple/slug).
func slugName(text string, most int, smart bool) string {
	text = SanitizeName(text)
	if !smart && len(text) >= most {
		text = text[:max(most, 0)]
	}
	text = strings.Trim(notInSlugs.ReplaceAllString(text, "-"), "-_")
	if !smart || most <= 0 || len(text) <= most {
		return text
	}
	if i := strings.LastIndexByte(text[:most+1], '-'); i >= 0 {
		return text[:i]
	}
	return text[:most]
}
