package controller

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestTheLastVerifiedRevisionIsFetchedAndVerifiedAgain(t *testing.T) {
	repo, key := gittest.New(t, map[string]string{"a": "1"}), gittest.NewPGPKey(t, 0)
	signed := repo.SignHead(key)
	forged := repo.Commit(map[string]string{"a": "2"}, "forged")
	store, closed, err := local.OpenStore(local.AnyServer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closed)
	c, _, _ := speaking(t)
	c.Fetcher = store
	spec := source.Spec{Kind: source.Git, URL: "file://" + repo.Dir, Ref: source.Ref{Branch: gittest.Main}, Verify: source.Verification{Commit: true, PGP: key.Public}}
	_, failed := store.Fetch(t.Context(), spec)
	s := dialect.Source{Key: app.SourceKey{Kind: "GitRepository", Name: "web"}}
	last := func(commit string) (source.Artifact, bool) {
		cr := object.Object{"status": map[string]any{"artifact": map[string]any{"revision": "main@sha1:" + commit}}}
		return c.lastVerified(t.Context(), cr, s, spec, failed)
	}
	got, ok := last(signed)
	if !ok || got.Revision != "main@sha1:"+signed || !strings.Contains(got.Verified, signed) {
		t.Errorf("got %v of %q, %q, after: %v", ok, got.Revision, got.Verified, failed)
	}
	if _, ok := last(forged); ok {
		t.Error("the status names a commit that is not verified, and it was taken")
	}
	c.sourceSet[s.Key] = &sourceEntry{state: dialect.SourceState{Artifact: got}}
	if _, ok := last(signed); ok {
		t.Error("it was fetched though an artifact is at hand")
	}
}
