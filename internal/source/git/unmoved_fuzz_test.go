package git

import (
	"bufio"
	"io"
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
		found, err := findListed(strings.NewReader(answer), []string{"refs/heads/main"})
		if hash := found["refs/heads/main"]; err == nil && hash != "" && !strings.Contains(answer, hash+" refs/heads/main") {
			t.Errorf("%q gives %q", answer, hash)
		}
	})
}

// FuzzAnAnswerToFetch: whatever a server answers, what git is given is part of it, and no more than was agreed.
func FuzzAnAnswerToFetch(f *testing.F) {
	shallow := pktLine("shallow-info\n") + pktLine("shallow "+someHash+"\n") + "0001"
	pack := pktLine("packfile\n") + pktLine("\x01PACK") + pktLine("\x02counting") + "0005\x01" + pktLine("\x01and more")
	for _, answer := range []string{shallow + pack + "0000", pack, shallow, pktLine("packfile\n") + pktLine("\x03no"), pack + "0003", "0000"} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		in := bufio.NewReader(strings.NewReader(answer))
		hashes, err := readShallow(in)
		if err != nil {
			return
		}
		for _, hash := range hashes {
			if !hashForm.MatchString(hash) {
				t.Errorf("%q is said to be a commit", hash)
			}
		}
		b := &band{in: in, most: 100}
		got, err := io.ReadAll(b)
		if len(got) > 100 || len(got) > len(answer) {
			t.Errorf("%d bytes of %q, %v", len(got), answer, err)
		}
	})
}
