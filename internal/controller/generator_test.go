package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// TestABuildThatFailedIsTriedAgainSoon has a stored copy of a source damaged: the copy that is fetched in its place has the same revision and digest.
func TestABuildThatFailedIsTriedAgainSoon(t *testing.T) {
	c, of, made, generator := generating(t, map[string]string{"a": "1"})
	sound := c.sourceSet[of].state.Artifact
	look := func() time.Duration { return c.reconcileSource(t.Context(), generator.source.Key) }
	c.sourceSet[of].state.Artifact.Files = struct{ source.Tree }{sound.Files} // which cannot be copied
	var pauses []time.Duration
	for range 3 {
		pauses = append(pauses, look())
	}
	for range 20 {
		look()
	}
	pauses = append(pauses, look())
	if diff := cmp.Diff([]time.Duration{15 * time.Second, 30 * time.Second, time.Minute, time.Hour}, pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	c.sourceSet[of].state.Artifact = sound
	if again := look(); again != time.Hour {
		t.Errorf("after the end of the failure it is looked at again after %s", again)
	}
	c.reconcileSource(t.Context(), made)
	if _, err := c.Artifact(made); err != nil {
		t.Error(err)
	}

	// What another spec alone can end is not tried again.
	generator.source.Recipe.Sources[0].From.Namespace = "other"
	c.Tenancy.References = tenancy.SameNamespace
	if again := look(); again != time.Hour {
		t.Errorf("what is not allowed is tried again after %s", again)
	}
	c.Tenancy.References, generator.source.Problems = "", []app.Problem{{Field: "spec.sources", Reason: "required"}}
	if again := look(); again != time.Hour {
		t.Errorf("what is refused is tried again after %s", again)
	}
}

// TestAnotherSpecOrArtifactBeginsThePausesAgain: its first failure may pass as well as that of the first build.
func TestAnotherSpecOrArtifactBeginsThePausesAgain(t *testing.T) {
	c, of, _, generator := generating(t, map[string]string{"a": "1"})
	from := &c.sourceSet[of].state
	sound := from.Artifact.Files
	from.Artifact.Files = struct{ source.Tree }{sound} // which cannot be copied
	for _, change := range []struct {
		name string
		make func()
	}{
		{"the first build", func() {}},
		{"another spec", func() { generator.source.Generation++ }},
		{"another revision", func() { from.Artifact.Revision += "1" }},
		{"no artifact", func() { from.Artifact.Files, from.Err = nil, errors.New("no answer") }},
		{"an artifact again", func() { from.Artifact.Files, from.Err = struct{ source.Tree }{sound}, nil }},
	} {
		change.make()
		for i := range 10 {
			again := c.reconcileSource(t.Context(), generator.source.Key)
			if want := min(15*time.Second<<i, time.Hour); again != want {
				t.Errorf("%s: it is tried again after %s, want %s", change.name, again, want)
			}
		}
	}
}

// TestAnArtifactThatWentUnseenIsMadeAgain: a list shows that it is gone, without what was in it.
func TestAnArtifactThatWentUnseenIsMadeAgain(t *testing.T) {
	c, s, _ := speaking(t)
	cr, maker := resource(), app.SourceKey{Kind: artifactGenerator, Name: "maker"}
	c.sourceSet[app.SourceKey{Kind: "Kustomization", Name: "web"}] = &sourceEntry{cr: cr, from: maker}
	c.sourceSet[maker] = &sourceEntry{cr: resource()}
	stub := object.Object{"metadata": map[string]any{"name": "web"}}
	c.onSourceEvent(before{s}, live.Event{GVK: cr.GVK(), ID: cr.ID(), Object: stub, Gone: true})
	if c.sources.Len() != 1 {
		t.Errorf("%d sources are looked at, want the one that makes it", c.sources.Len())
	}
}
