package output

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestTheLineHashIsGitHubs has what github/codeql-action computes for these texts.
func TestTheLineHashIsGitHubs(t *testing.T) {
	greetings := []string{
		"e9496ae3ebfced30:1", "fb7c023a8b9ccb3f:1", "ce8ba1a563dcdaca:1", "e20e36e16fcb0cc8:1", "b3edc88f2938467e:1", "c8e28b0b4002a3a0:1", "c129715d7a2bc9a3:1",
	}
	for text, want := range map[string][]string{
		"":                   {"c129715d7a2bc9a3:1"},
		" a\nb\n  \t\tc\n d": {"271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"},
		" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n":           greetings,
		" hello; \t\r\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n":     greetings,
		" hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r": greetings,
		strings.Repeat("Lorem ipsum dolor sit amet.\n", 10): {
			"a7f2ff13bc495cf2:1", "a7f2ff13bc495cf2:2", "a7f2ff13bc495cf2:3", "a7f2ff13bc495cf2:4", "a7f2ff13bc495cf2:5", "a7f2ff13bc495cf2:6",
			"a7f2ff1481e87703:1", "a9cf91f7bbf1862b:1", "55ec222b86bcae53:1", "cc97dc7b1d7d8f7b:1", "c129715d7a2bc9a3:1",
		},
	} {
		if diff := cmp.Diff(want, lineHashes([]byte(text))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestWhatIsTooLargeIsNotHashed(t *testing.T) {
	files := fstest.MapFS{"large.yaml": {Data: make([]byte, maxHashed+1)}, "small.yaml": {Data: []byte("a: b")}, "d/a.yaml": {}}
	h := &lineHashCache{files: files, known: map[string][]string{}}
	for name, want := range map[string]bool{"large.yaml": false, "small.yaml": true, "d": false, "../small.yaml": false, "none.yaml": false} {
		if got := h.of(name, 1); (got != "") != want {
			t.Errorf("%s: hash %q", name, got)
		}
	}
	if got := h.of("small.yaml", 2) + h.of("small.yaml", 0); got != "" {
		t.Errorf("a line that there is not has the hash %s", got)
	}
}

func TestEveryLineOfALongTextHasAHash(t *testing.T) {
	text := strings.Repeat("a: "+strings.Repeat("x", 300)+"\n\n🙂\n", 50)
	if got, want := len(lineHashes([]byte(text))), strings.Count(text, "\n")+1; got != want {
		t.Errorf("%d hashes for %d lines", got, want)
	}
}
