package controller

import (
	"context"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
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

// ofRepository is a front of sources that fetches from the URL in a custom resource.
type ofRepository struct{ before }

func (f ofRepository) Source(cr object.Object) dialect.Source {
	s := f.before.Source(cr)
	s.UID = cr.UID()
	return s
}

func (ofRepository) Spec(cr object.Object, _ source.Secrets) (source.Spec, error) {
	return source.Spec{URL: cr.StringAt("spec", "url")}, nil
}

// held fetches nothing before it is released.
type held struct{ begun, released chan string }

// Fetch implements source.Fetcher.
func (h held) Fetch(_ context.Context, spec source.Spec) (source.Artifact, error) {
	h.begun <- spec.URL
	<-h.released
	return source.Artifact{Revision: spec.URL, Files: struct{ source.Tree }{}}, nil
}

// TestWhatADeletedSourceFetchesIsNotThatOfItsSuccessor: nor of another revision of it, which an app reads.
func TestWhatADeletedSourceFetchesIsNotThatOfItsSuccessor(t *testing.T) {
	own := app.SourceKey{Kind: "Kustomization", Name: "web"}
	pinned := own
	pinned.Revision = "stable"
	for _, key := range []app.SourceKey{own, pinned} {
		c, s, _ := speaking(t)
		f, h := ofRepository{before{s}}, held{make(chan string), make(chan string)}
		c.Fetcher = h
		event := func(uid string, gone bool) {
			cr := resource()
			cr.Metadata()["uid"], cr["spec"] = uid, map[string]any{"url": "https://example.com/" + uid}
			c.onSourceEvent(f, live.Event{GVK: cr.GVK(), ID: cr.ID(), Object: cr, Gone: gone})
		}
		look := func(meanwhile func()) {
			ended := make(chan struct{})
			go func() {
				c.reconcileSource(t.Context(), key)
				close(ended)
			}()
			<-h.begun
			meanwhile()
			h.released <- ""
			<-ended
		}
		event("a", false)
		if key != own {
			c.sourceSet[key] = &sourceEntry{attached: true, base: own}
		}
		look(func() {
			event("a", true)
			event("b", false)
		})
		if got, err := c.Artifact(key); err == nil {
			t.Errorf("%s: the new source has what was fetched from %s", key, got.Revision)
		}
		look(func() {})
		if got, err := c.Artifact(key); err != nil || got.Revision != "https://example.com/b" {
			t.Errorf("%s: fetched from %q, %v", key, got.Revision, err)
		}
	}
}
