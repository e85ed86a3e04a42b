package keyless_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source/keyless"
	"github.com/truce-gitops/truce/internal/testing/signtest"
)

func TestTheRootOfAMirrorIsFetchedAndVerified(t *testing.T) {
	want := signtest.NewSigstore(t).Root()
	good, another := signtest.NewTUF(t, want, time.Now().Add(time.Hour)), signtest.NewTUF(t, want, time.Now().Add(time.Hour))
	ended := signtest.NewTUF(t, want, time.Now().Add(-time.Hour))
	got, err := keyless.PublicRoot(t.Context(), http.DefaultClient, keyless.Mirror{URL: good.URL, Root: good.Root})
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	down := signtest.NewTUF(t, want, time.Now().Add(time.Hour))
	down.Down.Store(true)
	for what, m := range map[string]keyless.Mirror{
		"another root.json": {URL: another.URL, Root: good.Root}, "an ended one": {URL: ended.URL, Root: ended.Root}, "no server": {URL: down.URL, Root: down.Root},
	} {
		if got, err := keyless.PublicRoot(t.Context(), http.DefaultClient, m); err == nil || !strings.Contains(err.Error(), "fetch the trusted root of "+m.URL+" by TUF") {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := keyless.PublicRoot(over, http.DefaultClient, keyless.Mirror{URL: good.URL, Root: good.Root}); err == nil {
		t.Error("it is fetched after its time")
	}
}
