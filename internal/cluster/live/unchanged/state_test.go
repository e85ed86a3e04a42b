package unchanged

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

// TestWhichStatesAreKnown: a state is recorded where the resourceVersion or the generation shows all that an app can describe.
func TestWhichStatesAreKnown(t *testing.T) {
	of := func(apiVersion, kind string) object.Object {
		return object.Object{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"uid": "1", "resourceVersion": "7", "generation": int64(2)}}
	}
	for _, c := range []struct{ apiVersion, kind, want string }{
		{"v1", "ConfigMap", "7"},
		{"v1", "Service", "7"},
		{"apps/v1", "Deployment", sumMark},
		{"v1", "Pod", ""},
		{"example.org/v1", "Custom", ""},
	} {
		got := StateOf(of(c.apiVersion, c.kind))
		if text := got.String(); c.want == sumMark && !strings.HasPrefix(text, sumMark) || c.want != sumMark && text != c.want {
			t.Errorf("%s: %q, want %q", c.kind, text, c.want)
		}
		if ParseState(got.String()) != got {
			t.Errorf("%s: %q is read as another state", c.kind, got)
		}
	}
	unread := of("v1", "ConfigMap")
	unread["metadata"].(map[string]any)["resourceVersion"] = "opaque"
	if s := StateOf(unread); !s.IsZero() {
		t.Errorf("%q of a resourceVersion that is no number", s)
	}
}

func FuzzParseState(f *testing.F) {
	for _, s := range []string{"", "7", "07", "s", "sgAAAAAAAAAAAAAAAAAAAAA", "sAAAAAAAAAAAAAAAAAAAAAA", "-1", "1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s := ParseState(text); ParseState(s.String()) != s {
			t.Errorf("%q is read as %q, and that as another state", text, s)
		}
	})
}
