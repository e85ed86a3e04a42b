package chart

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// TestTheTimeOfAnIndexIsNoPartOfItsContent: however the text comes, and wherever the line is; any other difference is one. The revision is of all of it.
func TestTheTimeOfAnIndexIsNoPartOfItsContent(t *testing.T) {
	of := func(size int, text string) string {
		s := newIndexSum()
		for i := 0; i < len(text); i += size {
			_, _ = s.Write([]byte(text[i:min(i+size, len(text))]))
		}
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); s.revision() != want {
			t.Errorf("the revision of %q is %s, and in Flux %s", text, s.revision(), want)
		}
		return s.content()
	}
	want := of(100, "a: 1\nentries:\n  generated: x\nz: 2")
	for _, size := range []int{1, 3, 7, 100} {
		for text, same := range map[string]bool{
			"a: 1\ngenerated: 2026-01-02\nentries:\n  generated: x\nz: 2":  true,
			"generated: 2026\na: 1\nentries:\n  generated: x\nz: 2":        true,
			"a: 1\nentries:\n  generated: y\nz: 2":                         false,
			"a: 1\nentries:\n  generated: x\nz: 3":                         false,
			"a: 1\nentries:\n  generated: x\nz":                            false,
			"a: 1\ngeneratedBy: helm\nentries:\n  generated: x\nz: 2":      false,
			strings.Repeat(" ", 20) + "\na: 1\nentries:\n  generated: x\n": false,
		} {
			if got := of(size, text); (got == want) != same {
				t.Errorf("%q in parts of %d: %s, the first is %s", text, size, got, want)
			}
		}
	}
}
