package git

import (
	"strings"
	"testing"
)

// FuzzAnAnswerToLsRefs: whatever a server answers, a hash is one that it has named beside the reference.
func FuzzAnAnswerToLsRefs(f *testing.F) {
	line := pktLine(someHash + " refs/heads/main\n")
	for _, answer := range []string{line + "0000", "0000", line, "0001" + line, pktLine("ERR no") + "0000", "fff0", "0004", pktLine(someHash+" refs/heads/main symref-target:x\n") + line + "0000"} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		hash, err := findListed(strings.NewReader(answer), "refs/heads/main")
		if err == nil && hash != "" && !strings.Contains(answer, hash+" refs/heads/main") {
			t.Errorf("%q gives %q", answer, hash)
		}
	})
}
