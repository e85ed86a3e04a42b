package bucket_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestABucketWhoseFilesAreGoneIsFetchedAgain: of a source that was removed and comes back, the request is still known when its files are not.
func TestABucketWhoseFilesAreGoneIsFetchedAgain(t *testing.T) {
	want := map[string]string{"a": "1", "b": "2"}
	s, store := storage(t, want), newStore(t)
	fetch(t, store, specOf(s))
	if err := store.Packs.Retain(nil, 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, filesOf(t, fetch(t, store, specOf(s)))); diff != "" {
		t.Error(diff)
	}
}
