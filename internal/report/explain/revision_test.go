package explain_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/report/explain"
)

func TestTheHashesOfARevisionAreCut(t *testing.T) {
	sha1, sha256 := strings.Repeat("0123456789", 4), strings.Repeat("89abcdef", 8)
	for revision, want := range map[string]string{
		"": "", "1.2.3": "1.2.3", "main@sha1:" + sha1: "main@sha1:0123456", "latest@sha256:" + sha256: "latest@sha256:89abcde",
		sha1 + " " + sha1: "0123456 0123456", "1.0.0 " + sha1: "1.0.0 0123456", "deadbeef": "deadbeef",
	} {
		if got := explain.ShortRevision(revision); got != want {
			t.Errorf("%s is cut to %q, want %q", revision, got, want)
		}
	}
}
