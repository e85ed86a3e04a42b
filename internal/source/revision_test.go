package source

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARevisionShowsWhatItIs(t *testing.T) {
	hash := strings.Repeat("0123456789", 4)
	for text, want := range map[string]Ref{
		"": {Name: "HEAD"}, "HEAD": {Name: "HEAD"}, hash: {Commit: hash}, "refs/pull/7/head": {Name: "refs/pull/7/head"},
		"main": {Any: "main"}, "v1.2.3": {Any: "v1.2.3"}, "release/1.x-lts": {Any: "release/1.x-lts"}, "0123456": {Any: "0123456"},
		"1.2.*": {SemVer: "1.2.*"}, "1.x": {SemVer: "1.x"}, ">=1.0.0 <2.0.0": {SemVer: ">=1.0.0 <2.0.0"}, "^1.2": {SemVer: "^1.2"},
	} {
		if diff := cmp.Diff(want, ParseRef(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
