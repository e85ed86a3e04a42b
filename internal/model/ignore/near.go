package ignore

import (
	"slices"
	"strconv"
	"strings"
)

// NearWords returns those of the words that the writer of the text may have meant, the nearest first: the same in other letters, or within
// a third of its letters.
func NearWords(text string, words []string) []string {
	type candidate struct {
		word string
		far  int
	}
	var all []candidate
	for _, w := range words {
		far := distance(strings.ToLower(text), strings.ToLower(w))
		if text != "" && w != text && far <= max(len(text), len(w))/3 {
			all = append(all, candidate{w, far})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.far - b.far })
	var out []string
	for _, c := range all {
		out = append(out, c.word)
	}
	return out
}

// distance counts the letters to put in, to take out or to change (Levenshtein). Long texts are compared by their beginnings.
func distance(a, b string) int {
	const enough = 64
	a, b = a[:min(len(a), enough)], b[:min(len(b), enough)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			up := row[j+1]
			row[j+1] = min(up, row[j]) + 1
			if a[i] == b[j] {
				row[j+1] = left
			} else {
				row[j+1] = min(row[j+1], left+1)
			}
			left = up
		}
	}
	return row[len(b)]
}

// suggestion is the question behind a message; empty if nothing is near.
func suggestion(text string, words []string) string {
	if found := NearWords(text, words); len(found) > 0 {
		return ": did you mean " + strconv.Quote(found[0]) + "?"
	}
	return ""
}

// firstWords lists the first few words.
func firstWords(words []string) string {
	const shown = 8
	if len(words) > shown {
		return strings.Join(words[:shown], ", ") + " and " + strconv.Itoa(len(words)-shown) + " more"
	}
	return strings.Join(words, ", ")
}
