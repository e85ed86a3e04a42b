package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	"github.com/truce-gitops/truce/internal/source/recipe"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// posed is a front of sources that are as the test says.
type posed struct {
	before
	source dialect.Source
	spec   source.Spec
}

func (p posed) Source(object.Object) dialect.Source                          { return p.source }
func (p posed) Spec(object.Object, source.Secrets) (source.Spec, error)      { return p.spec, nil }
func (p posed) Status(_ object.Object, _ dialect.SourceState) map[string]any { return p.status() }

// moved is a server of sources that has the revision now, and former ones of those that can be asked for them.
type moved struct {
	now   source.Artifact
	fails error
	asked []source.Spec
}

func (m *moved) Fetch(_ context.Context, s source.Spec) (source.Artifact, error) {
	m.asked = append(m.asked, s)
	got := m.now
	if former := s.Ref.Commit + s.Ref.Name; former != "" {
		got.Revision = former
	}
	return got, m.fails
}

// someArtifact is that of a repository with files.
func someArtifact(t *testing.T, files map[string]string) source.Artifact {
	t.Helper()
	repo := gittest.New(t, files)
	store, closed, err := local.OpenStore(local.AnyServer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closed)
	a, err := store.Fetch(t.Context(), source.Spec{URL: "file://" + repo.Dir, Ref: source.Ref{Branch: gittest.Main}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const (
	oldCommit = "1111111111111111111111111111111111111111"
	oldDigest = "sha256:2222"
)

func TestASuspendedSourceIsFetchedOnceAtTheRevisionOfItsStatus(t *testing.T) {
	files := someArtifact(t, map[string]string{"a": "1"})
	web := app.SourceKey{Kind: "GitRepository", Name: "web"}
	for name, s := range map[string]struct {
		spec     source.Spec
		had, now string
		fails    error
		ask      source.Ref
		want     string // the revision at hand
		says     string // or why there is none
	}{
		"a commit": {
			spec: source.Spec{Ref: source.Ref{Branch: "main"}}, had: "main@sha1:" + oldCommit, now: "main@sha1:new",
			ask: source.Ref{Branch: "main", Commit: oldCommit}, want: "main@sha1:" + oldCommit,
		},
		"a digest": {
			spec: source.Spec{Kind: source.OCI, Ref: source.Ref{Tag: "latest"}}, had: "latest@" + oldDigest, now: "latest@sha256:new",
			ask: source.Ref{Name: oldDigest}, want: "latest@" + oldDigest,
		},
		"a bucket with the same content":    {spec: source.Spec{Kind: source.ObjectStorage}, had: oldDigest, now: oldDigest, want: oldDigest},
		"a bucket with other content":       {spec: source.Spec{Kind: source.ObjectStorage}, had: oldDigest, now: "sha256:new", says: "it is suspended, and " + oldDigest},
		"an index that is the same":         {spec: source.Spec{Kind: source.HelmRepository}, had: oldDigest, now: oldDigest, want: oldDigest},
		"an index that is another":          {spec: source.Spec{Kind: source.HelmRepository}, had: oldDigest, now: "sha256:new", says: "another revision by now"},
		"a tag whose signature is verified": {spec: source.Spec{Ref: source.Ref{Tag: "v1"}, Verify: source.Verification{Tag: true}}, had: "v1@sha1:" + oldCommit, now: "v1@sha1:new", ask: source.Ref{Tag: "v1"}, says: "another revision by now"},
		"a source that was never fetched":   {now: "main@sha1:new", says: "it is suspended, and was not fetched before: resume it"},
		"a server that does not answer": {
			spec: source.Spec{Ref: source.Ref{Branch: "main"}}, had: "main@sha1:" + oldCommit, fails: errors.New("no answer"),
			ask: source.Ref{Branch: "main", Commit: oldCommit}, says: "no answer; resume it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, says, server := speaking(t)
			says.says = "written"
			at := &moved{now: files, fails: s.fails}
			at.now.Revision = s.now
			c.Fetcher = at
			front := posed{before: before{says}, spec: s.spec, source: dialect.Source{Key: web, Interval: time.Hour, Suspended: true}}
			cr := resource()
			cr["status"] = map[string]any{"artifact": map[string]any{"revision": s.had}}
			c.sourceSet[web] = &sourceEntry{front: front, cr: cr}
			if c.awaitSource(web) == 0 {
				t.Error("an app does not wait for the first look")
			}
			again := c.reconcileSource(t.Context(), web)
			got, err := c.Artifact(web)
			if s.says == "" && (err != nil || got.Revision != s.want || again != 0) {
				t.Errorf("got %q, %v, again after %s", got.Revision, err, again)
			}
			if s.says != "" && (err == nil || !strings.Contains(err.Error(), s.says) || !strings.Contains(err.Error(), "resume it") || (again == retrySource) != (s.had != "")) {
				t.Errorf("got %v, again after %s", err, again)
			}
			if len(at.asked) > 0 && at.asked[0].Ref != s.ask {
				t.Errorf("asked for %+v", at.asked[0].Ref)
			}
			asked := len(at.asked)
			if c.reconcileSource(t.Context(), web); s.says == "" && len(at.asked) != asked {
				t.Error("it is fetched again")
			}
			if c.awaitSource(web) != 0 || server.has() != "" {
				t.Errorf("an app still waits, or the status says %q", server.has())
			}
		})
	}
}

func TestAChartOfASuspendedRepositoryIsThatOfTheIndexItIsSuspendedAt(t *testing.T) {
	c, says, _ := speaking(t)
	own := app.SourceKey{Kind: "HelmRepository", Name: "web"}
	chart := app.SourceKey{Kind: "HelmRepository", Name: "web", Chart: "app", Version: "1.x"}
	at := &moved{now: someArtifact(t, map[string]string{"a": "1"})}
	at.now.Revision = oldDigest
	c.Fetcher = at
	cr := resource()
	cr["status"] = map[string]any{"artifact": map[string]any{"revision": oldDigest}}
	front := posed{before: before{says}, spec: source.Spec{Kind: source.HelmRepository}, source: dialect.Source{Key: own, Interval: time.Hour, Suspended: true}}
	c.sourceSet[own] = &sourceEntry{front: front, cr: cr}
	c.sourceSet[chart] = &sourceEntry{attached: true, base: own}
	c.reconcileSource(t.Context(), chart) // waits for the index
	c.reconcileSource(t.Context(), own)
	c.reconcileSource(t.Context(), chart)
	if _, err := c.Artifact(chart); err != nil || len(at.asked) != 2 || at.asked[1].Chart != (source.Chart{Name: "app", Version: "1.x", Index: oldDigest}) {
		t.Errorf("got %v of %+v", err, at.asked)
	}

	// A registry has no index.
	front.source.Static, front.spec.Kind = true, source.OCI
	for version, fetched := range map[string]bool{"1.2.3": true, "1.x": false, "": false} {
		key := app.SourceKey{Kind: "HelmRepository", Name: "web", Chart: "app", Version: version}
		c.sourceSet[own], c.sourceSet[key] = &sourceEntry{front: front, cr: cr}, &sourceEntry{attached: true, base: own}
		c.reconcileSource(t.Context(), key)
		if _, err := c.Artifact(key); (err == nil) != fetched || err != nil && !strings.Contains(err.Error(), "is suspended") {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// generating is a controller with an ArtifactGenerator of one source, which it returns, and the ExternalArtifact that was made of it before.
func generating(t *testing.T, files map[string]string) (c *Controller, of, made app.SourceKey, generator *posed) {
	t.Helper()
	c, says, _ := speaking(t)
	c.Observer = NoObserver{}
	of = app.SourceKey{Kind: "GitRepository", Name: "repo"}
	maker := app.SourceKey{Kind: artifactGenerator, Name: "web"}
	made = app.SourceKey{Kind: registry.ExternalArtifacts.Kind, Name: "made"}
	generator = &posed{before: before{says}, source: dialect.Source{Key: maker, UID: "1", Interval: time.Hour, Recipe: &recipe.Recipe{
		Sources: []recipe.Input{{Alias: "app", From: of}},
		Outputs: []recipe.Output{{Name: made.Name, Copies: []recipe.Copy{{Alias: "app", From: "**"}}}},
	}}}
	entry := func(f dialect.Sources) *sourceEntry {
		cr := resource()
		cr.Metadata()["uid"] = "1"
		return &sourceEntry{front: f, cr: cr}
	}
	c.sourceSet[of] = entry(posed{before: before{says}, source: dialect.Source{Key: of}})
	c.sourceSet[of].state.Artifact = someArtifact(t, files)
	c.sourceSet[maker] = entry(generator)
	c.sourceSet[made] = entry(posed{before: before{says}, source: dialect.Source{Key: made, Maker: maker, MakerUID: "1"}})
	c.sourceSet[made].from = maker
	return c, of, made, generator
}

func TestADisabledArtifactGeneratorMakesOnceWhatItHasMade(t *testing.T) {
	c, of, made, generator := generating(t, map[string]string{"a": "1"})
	c.reconcileSource(t.Context(), generator.source.Key)
	c.reconcileSource(t.Context(), made)
	first, err := c.Artifact(made)
	if err != nil {
		t.Fatal(err)
	}

	restart := func(files map[string]string) *Controller {
		c, _, _, again := generating(t, files)
		again.source.Suspended = true
		c.sourceSet[made].cr["status"] = map[string]any{"artifact": map[string]any{"revision": first.Revision, "digest": first.Digest}}
		if s := c.sourceSet[made]; !c.awaitGenerated(s.front.Source(s.cr)) {
			t.Error("the ExternalArtifact does not wait for its ArtifactGenerator")
		}
		c.reconcileSource(t.Context(), again.source.Key)
		c.reconcileSource(t.Context(), made)
		return c
	}
	if got, err := restart(map[string]string{"a": "1"}).Artifact(made); err != nil || got.Revision != first.Revision {
		t.Errorf("of the same files: %q, %v", got.Revision, err)
	}
	later := restart(map[string]string{"a": "2"})
	if _, err := later.Artifact(made); err == nil || !strings.Contains(err.Error(), "it is disabled") || !strings.Contains(err.Error(), "enable it") {
		t.Errorf("of other files: %v", err)
	}
	later.sourceSet[of].state.Artifact = c.sourceSet[of].state.Artifact // as before
	later.reconcileSource(t.Context(), generator.source.Key)
	later.reconcileSource(t.Context(), made)
	if _, err := later.Artifact(made); err != nil {
		t.Errorf("of the files of before: %v", err)
	}
}

func TestAnotherRevisionOfASuspendedSourceIsNotThatOfItsStatus(t *testing.T) {
	c, says, _ := speaking(t)
	own := app.SourceKey{Kind: "GitRepository", Name: "web"}
	pin := app.SourceKey{Kind: "GitRepository", Name: "web", Revision: strings.Repeat("3", 40)}
	cr := resource()
	cr["status"] = map[string]any{"artifact": map[string]any{"revision": "main@sha1:" + oldCommit}}
	at := &moved{now: someArtifact(t, map[string]string{"a": "1"})}
	c.Fetcher = at
	c.sourceSet[own] = &sourceEntry{front: posed{before: before{says}, source: dialect.Source{Key: own, Suspended: true}}, cr: cr}
	c.sourceSet[pin] = &sourceEntry{attached: true, base: own}
	c.reconcileSource(t.Context(), pin)
	if _, err := c.Artifact(pin); err == nil || !strings.Contains(err.Error(), "is suspended") || len(at.asked) > 0 {
		t.Errorf("got %v, asked for %+v", err, at.asked)
	}
}

func TestASourceThatIsDeletedWithoutAnArtifactSaysSo(t *testing.T) {
	c, says, _ := speaking(t)
	key := app.SourceKey{Kind: "GitRepository", Name: "web"}
	c.sourceSet[key] = &sourceEntry{front: posed{before: before{says}, source: dialect.Source{Key: key, Deleting: true}}, cr: resource()}
	c.reconcileSource(t.Context(), key)
	if _, err := c.Artifact(key); err == nil || !strings.Contains(err.Error(), "is being deleted") || c.awaitSource(key) != 0 {
		t.Errorf("got %v, and an app waits for %s", err, c.awaitSource(key))
	}
}

// TestAHeldChartHasTheVersionOfTheRevision: with the build metadata that the chart has itself, and without that which values files have put in its place.
func TestAHeldChartHasTheVersionOfTheRevision(t *testing.T) {
	values := []string{"values.yaml"}
	for _, c := range []struct {
		asked    string
		values   []string
		revision string
		want     string
	}{
		{"1.x", nil, "1.2.3", "1.2.3"},
		{"1.x", nil, "1.2.3+build7", "1.2.3+build7"},
		{"1.2.3+build7", nil, "1.2.3+build7", "1.2.3+build7"},
		{"1.x", values, "1.2.3+4", "=1.2.3"}, // whether its tag has a v or not
		{"1.2.3+build7", values, "1.2.3+4", "1.2.3+build7"},
		{"v1.2.3+build7", values, "1.2.3+4", "v1.2.3+build7"},
		{"1.3.0+build8", values, "1.2.3+4", "1.2.3"}, // asked for since it was suspended
		{"v1.3.0", values, "1.2.3+4", "v1.2.3"},
		{"v1.2.3", values, "v1.2.3+4", "v1.2.3"},
	} {
		s := dialect.Source{Chart: &chartfile.Choice{From: app.SourceKey{Kind: "HelmRepository", Name: "web", Chart: "app", Version: c.asked}, Values: c.values}}
		if got := heldChart(resource(), s, c.revision).Chart.From.Version; got != c.want {
			t.Errorf("%s at %s, values files %v: %q, want %q", c.asked, c.revision, c.values, got, c.want)
		}
		if s.Chart.From.Version != c.asked {
			t.Error("the HelmChart itself is another")
		}
	}
}
