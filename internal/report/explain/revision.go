package explain

import "strings"

// ShortRevision cuts the hashes of a revision to what people compare: main@sha1:0123456. An Application with several sources has a revision of each.
func ShortRevision(s string) string {
	const hash, shown = 40, 7 // digits of a SHA-1
	all := strings.Split(s, " ")
	for i, r := range all {
		if digits := len(r) - len(strings.TrimRight(r, "0123456789abcdef")); digits >= hash {
			all[i] = r[:len(r)-digits+shown]
		}
	}
	return strings.Join(all, " ")
}
