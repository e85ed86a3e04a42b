package oci_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// TestALayerThatIsGoneIsFetchedAgain: of a source that was removed and comes back, the request is still known when its files are not.
func TestALayerThatIsGoneIsFetchedAgain(t *testing.T) {
	r, s := ocitest.New(t), newStore(t)
	r.Push("team/app", "v1", map[string]string{"a": "right"}, nil)
	fetch(t, s, specOf(r, "v1"))
	if err := s.Packs.Retain(nil, 0); err != nil {
		t.Fatal(err)
	}
	if got := content(t, fetch(t, s, specOf(r, "v1")), "a"); got != "right" {
		t.Errorf("read %q", got)
	}
}
