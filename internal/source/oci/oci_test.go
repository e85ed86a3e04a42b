package oci_test

import (
	"encoding/pem"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/oci"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// loopback allows the servers of tests.
var loopback = egress.Policy{Allowed: []string{"127.0.0.0/8", "::1"}}

func storeIn(t testing.TB, dir string, servers egress.Policy) *oci.Store {
	t.Helper()
	packs, err := pack.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &oci.Store{Packs: packs, Servers: servers}
}

func newStore(t testing.TB) *oci.Store { return storeIn(t, t.TempDir(), loopback) }

// specOf asks for a tag of a registry without TLS.
func specOf(r *ocitest.Registry, tag string) source.Spec {
	return source.Spec{Kind: source.OCI, URL: r.URL("team/app"), Ref: source.Ref{Tag: tag}, Insecure: true}
}

func fetch(t testing.TB, s *oci.Store, spec source.Spec) source.Artifact {
	t.Helper()
	a, err := s.Fetch(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// refused wants an error for a reason, and returns its text.
func refused(t testing.TB, s *oci.Store, spec source.Spec, reason source.Reason) string {
	t.Helper()
	a, err := s.Fetch(t.Context(), spec)
	var e *source.Error
	if !errors.As(err, &e) || e.Reason != reason {
		t.Fatalf("%v, %v, want %s", a.Revision, err, reason)
	}
	return err.Error()
}

// isRejected reports whether a fetch ends because the registry does not know the credentials.
func isRejected(t testing.TB, spec source.Spec) bool {
	t.Helper()
	_, err := newStore(t).Fetch(t.Context(), spec)
	var e *source.Error
	return errors.As(err, &e) && e.Rejected
}

func content(t testing.TB, a source.Artifact, name string) string {
	t.Helper()
	data, err := fs.ReadFile(a.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAnArtifactIsFetched(t *testing.T) {
	r := ocitest.New(t)
	made := map[string]string{"org.opencontainers.image.revision": "main@sha1:0123", "org.opencontainers.image.created": "2026-01-02T03:04:05Z"}
	digest := r.Push("team/app", "v1", map[string]string{"app.yaml": "a: 1\n", "logo.png": "x"}, made)
	a := fetch(t, newStore(t), specOf(r, "v1"))
	if a.Revision != "v1@"+digest || a.Commit != strings.TrimPrefix(digest, "sha256:") || a.Repository != r.Host+"/team/app" || content(t, a, "app.yaml") != "a: 1\n" {
		t.Errorf("%+v", a)
	}
	if diff := cmp.Diff(made, a.Metadata); diff != "" || !a.Time.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Error(diff, a.Time)
	}
	if _, err := fs.Stat(a.Files, "logo.png"); err == nil {
		t.Error("what the default rules exclude is in the artifact")
	}
	spec := specOf(r, "")
	spec.Ref = source.Ref{Name: digest, SemVer: ">=1", Tag: "none"}
	if b := fetch(t, newStore(t), spec); b.Revision != digest || b.Digest != a.Digest {
		t.Errorf("by digest: %+v", b)
	}
	spec.Ref = source.Ref{Commit: a.Commit}
	if b := fetch(t, newStore(t), spec); b.Revision != digest {
		t.Errorf("by the digits of the digest: %+v", b)
	}
}

// TestAPollThatFindsNothingNewIsOneRequest counts what the registry is asked, with tokens too, and after a restart.
func TestAPollThatFindsNothingNewIsOneRequest(t *testing.T) {
	for _, by := range []ocitest.Scheme{ocitest.Basic, ocitest.Tokens} {
		t.Run(string(by), func(t *testing.T) {
			r := ocitest.New(t)
			r.Demand("robot", "password", by)
			r.Push("team/app", "v1", map[string]string{"app.yaml": "a: 1\n"}, nil)
			dir := t.TempDir()
			s := storeIn(t, dir, loopback)
			spec := specOf(r, "v1")
			spec.Auth = source.Auth{Username: "robot", Password: "password"}
			first := fetch(t, s, spec)
			r.Requests()
			second := fetch(t, s, spec)
			if diff := cmp.Diff([]string{"HEAD /v2/team/app/manifests/v1"}, r.Requests()); diff != "" || second.Files != first.Files {
				t.Errorf("a second fetch (-want +got):\n%s", diff)
			}
			fetch(t, storeIn(t, dir, loopback), spec)
			for _, q := range r.Requests() {
				if strings.Contains(q, "/blobs/") {
					t.Errorf("after a restart: %s", q)
				}
			}
			r.Push("team/app", "v1", map[string]string{"app.yaml": "a: 2\n"}, nil)
			if third := fetch(t, s, spec); third.Digest == first.Digest || content(t, third, "app.yaml") != "a: 2\n" || content(t, first, "app.yaml") != "a: 1\n" {
				t.Error("what was pushed is not seen, or the former artifact has changed")
			}
		})
	}
}

func TestARangeOfVersionsPicksTheHighest(t *testing.T) {
	r := ocitest.New(t)
	for _, tag := range []string{"1.0.0", "v1.2.0", "1.10.0", "1.11.0-rc.1", "2.0.0", "1.99", "latest", "1.9.0-arm"} {
		r.Push("team/app", tag, map[string]string{"tag": tag}, nil)
	}
	r.Push("team/app/other", "1.50.0", map[string]string{"tag": "another repository's"}, nil)
	for versions, want := range map[string]string{"1.x": "1.10.0", ">=1.0.0-0 <2.0.0": "1.11.0-rc.1", "~1.2": "v1.2.0", "*": "2.0.0"} {
		spec := specOf(r, "")
		spec.Ref = source.Ref{SemVer: versions, Tag: "latest"}
		if a := fetch(t, newStore(t), spec); content(t, a, "tag") != want || !strings.HasPrefix(a.Revision, want+"@") {
			t.Errorf("%s: %s", versions, a.Revision)
		}
	}
	spec := specOf(r, "")
	spec.Ref.SemVer, spec.Ref.Filter = ">=1.0.0-0", "-arm$"
	if a := fetch(t, newStore(t), spec); content(t, a, "tag") != "1.9.0-arm" {
		t.Errorf("with a filter: %s", a.Revision)
	}
	spec.Ref.SemVer = ">=3"
	refused(t, newStore(t), spec, source.ReadFailed)
	spec.Ref.SemVer = "three"
	refused(t, newStore(t), spec, source.ReadFailed)
	spec.Ref.SemVer, spec.Ref.Filter = "*", "("
	refused(t, newStore(t), spec, source.ReadFailed)
}

// Helm stores version 1.1.0+b7 under the tag 1.1.0_b7. A tag of an artifact that is no chart is read as it is, as in Flux.
func TestARangeOfVersionsOfAChartFindsBuildMetadata(t *testing.T) {
	r := ocitest.New(t)
	for _, tag := range []string{"1.0.0", "1.1.0_b7", "1.1.0_b10", "1.2.0-rc.1_b1", "2_0.0"} {
		r.Push("charts/web", tag, map[string]string{"tag": tag}, nil)
	}
	for versions, want := range map[string]string{"1.x": "1.1.0_b7", "~1.0": "1.0.0", ">=1.0.0-0": "1.2.0-rc.1_b1"} {
		spec := specOf(r, "")
		spec.URL, spec.Ref = r.URL("charts/web"), source.Ref{SemVer: versions}
		spec.PlusTags = true
		if a := fetch(t, newStore(t), spec); content(t, a, "tag") != want || !strings.HasPrefix(a.Revision, want+"@") {
			t.Errorf("%s: %s", versions, a.Revision)
		}
		spec.PlusTags = false
		if a := fetch(t, newStore(t), spec); content(t, a, "tag") != "1.0.0" {
			t.Errorf("%s of no chart: %s", versions, a.Revision)
		}
	}
}

func TestALayerIsChosen(t *testing.T) {
	r := ocitest.New(t)
	const chart = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	r.PushLayers("team/app", "v1", nil, ocitest.Layer{MediaType: "text/plain", Data: []byte("no archive")},
		ocitest.Layer{MediaType: chart, Data: ocitest.Archive(map[string]string{"logo.png": "x", "a.yaml": "a: 1"})})
	refused(t, newStore(t), specOf(r, "v1"), source.LayerFailed)
	spec := specOf(r, "v1")
	spec.MediaType = chart
	if a := fetch(t, newStore(t), spec); content(t, a, "a.yaml") != "a: 1" {
		t.Errorf("%+v", a)
	}
	spec.Whole = true
	if a := fetch(t, newStore(t), spec); content(t, a, "logo.png") != "x" {
		t.Errorf("a copy: %+v", a)
	}
	spec.MediaType = "none/such"
	if text := refused(t, newStore(t), spec, source.LayerFailed); !strings.Contains(text, `no layer of the media type "none/such"`) {
		t.Error(text)
	}
}

func TestAnIndexLeadsToItsManifest(t *testing.T) {
	r := ocitest.New(t)
	type m = map[string]any
	want := r.Push("team/app", "amd64", map[string]string{"a": "amd64"}, map[string]string{"of": "the manifest"})
	other := r.Push("team/app", "arm64", map[string]string{"a": "arm64"}, nil)
	const index = "application/vnd.oci.image.index.v1+json"
	one := func(digest, arch string) m {
		return m{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1, "platform": m{"os": "linux", "architecture": arch}}
	}
	top := r.PushManifest("team/app", "v1", index, m{
		"schemaVersion": 2, "mediaType": index, "manifests": []any{one(other, "arm64"), one(want, "amd64")}, "annotations": m{"of": "the index", "more": "of it"},
	})
	if a := fetch(t, newStore(t), specOf(r, "v1")); content(t, a, "a") != "amd64" || a.Revision != "v1@"+top ||
		!maps.Equal(a.Metadata, map[string]string{"of": "the manifest"}) {
		t.Errorf("%+v", a)
	}
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	r := ocitest.New(t)
	digest := r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	layer := ocitest.Digest(ocitest.Archive(map[string]string{"a": "1"}))

	if text := refused(t, newStore(t), specOf(r, "none"), source.PullFailed); !strings.Contains(text, `tag "none": the registry has no such artifact`) {
		t.Error(text)
	}
	refused(t, newStore(t), specOf(r, "no/tag"), source.PullFailed)
	plain := specOf(r, "v1")
	plain.Insecure = false
	if text := refused(t, newStore(t), plain, source.PullFailed); !strings.Contains(text, "set spec.insecure to true") {
		t.Error(text)
	}
	for _, url := range []string{"https://" + r.Host + "/team/app", "oci://" + r.Host, r.URL("team/app:v1"), r.URL("team/app@" + digest), "oci://user:secret@" + r.Host + "/x"} {
		spec := specOf(r, "v1")
		spec.URL = url
		if text := refused(t, newStore(t), spec, source.URLInvalid); strings.Contains(text, "secret") {
			t.Error(text)
		}
	}
	r.Break(layer)
	refused(t, newStore(t), specOf(r, "v1"), source.LayerFailed)
	r.Break(digest)
	refused(t, newStore(t), specOf(r, "v1"), source.PullFailed)
	r.Server.Close()
	refused(t, newStore(t), specOf(r, "v1"), source.PullFailed)
}

func TestRefusedCredentialsAreNamedAndNotShown(t *testing.T) {
	for _, by := range []ocitest.Scheme{ocitest.Basic, ocitest.Tokens} {
		r := ocitest.New(t)
		r.Demand("robot", "password", by)
		r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
		spec := specOf(r, "v1")
		spec.Auth = source.Auth{Username: "robot", Password: "hunter2-wrong", Secret: "apps/login"}
		text := refused(t, newStore(t), spec, source.PullFailed)
		if !strings.Contains(text, "401 Unauthorized to the credentials of Secret apps/login") || strings.Contains(text, "hunter2") {
			t.Error(text)
		}
		if !isRejected(t, spec) {
			t.Error("wrong credentials are tried again at once")
		}
		spec.Auth = source.Auth{}
		if text := refused(t, newStore(t), spec, source.PullFailed); !strings.Contains(text, "no credentials") || isRejected(t, spec) {
			t.Error(text)
		}
	}
}

// TestCredentialsReachTheRegistryAlone redirects contents to another server, which sees every header.
func TestCredentialsReachTheRegistryAlone(t *testing.T) {
	r := ocitest.New(t)
	r.Demand("robot", "password", ocitest.Basic)
	r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seen = append(seen, q.Header.Get("Authorization")+q.Header.Get("Cookie"))
		_, _ = w.Write(ocitest.Archive(map[string]string{"a": "1"}))
	}))
	t.Cleanup(elsewhere.Close)
	r.RedirectBlobs(elsewhere.URL)
	spec := specOf(r, "v1")
	spec.Auth = source.Auth{Username: "robot", Password: "password"}
	fetch(t, newStore(t), spec)
	if diff := cmp.Diff([]string{""}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServersThatAreNotAllowedAreNotReached(t *testing.T) {
	r := ocitest.New(t)
	r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	refused(t, storeIn(t, t.TempDir(), egress.Policy{}), specOf(r, "v1"), source.HostNotAllowed)
	if q := r.Requests(); len(q) > 0 {
		t.Errorf("it was asked %v", q)
	}
	for _, to := range []string{"http://169.254.169.254", "http://[::1]:9"} {
		r.RedirectBlobs(to)
		refused(t, storeIn(t, t.TempDir(), egress.Policy{Allowed: []string{"127.0.0.0/8"}}), specOf(r, "v1"), source.HostNotAllowed)
	}
}

func TestCertificatesOfTheSourceAreUsed(t *testing.T) {
	r := ocitest.NewTLS(t)
	r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	spec := specOf(r, "v1")
	spec.Insecure = false
	refused(t, newStore(t), spec, source.PullFailed)
	spec.Auth.CABundle = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Server.Certificate().Raw}))
	fetch(t, newStore(t), spec)
	spec.Insecure = true // allows HTTP, and asks for it by no means
	fetch(t, newStore(t), spec)
	spec.Auth.CABundle = "no certificate"
	refused(t, newStore(t), spec, source.AuthenticationFailed)
}

// TestTheRegistryAloneIsNotVerified: it sends its clients to another server for contents.
func TestTheRegistryAloneIsNotVerified(t *testing.T) {
	r, other := ocitest.NewTLS(t), ocitest.NewTLS(t)
	r.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	other.Push("team/app", "v1", map[string]string{"a": "1"}, nil)
	spec := specOf(r, "v1")
	spec.Insecure, spec.Auth.Insecure = false, true
	fetch(t, newStore(t), spec)
	other.Requests()
	r.RedirectBlobs(other.Server.URL)
	refused(t, newStore(t), spec, source.PullFailed)
	if q := other.Requests(); len(q) > 0 {
		t.Errorf("the other server was asked %v", q)
	}
}

// TestADamagedLayerIsFetchedAgain changes what is stored: the files cannot be read then, and the next fetch brings them again.
func TestADamagedLayerIsFetchedAgain(t *testing.T) {
	r := ocitest.New(t)
	r.Push("team/app", "v1", map[string]string{"a": "right"}, nil)
	dir := t.TempDir()
	s := storeIn(t, dir, loopback)
	a := fetch(t, s, specOf(r, "v1"))
	file := filepath.Join(dir, "packs")
	all, err := os.ReadDir(file)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := os.WriteFile(filepath.Join(file, all[0].Name(), "content"), []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(a.Files, "a"); err == nil {
		t.Errorf("read %q", data)
	}
	if got := content(t, fetch(t, s, specOf(r, "v1")), "a"); got != "right" {
		t.Errorf("read %q", got)
	}
}

func TestLimitsHold(t *testing.T) {
	r := ocitest.New(t)
	r.Push("team/app", "v1", map[string]string{"a": strings.Repeat("x", 2000), "b": "1"}, nil)
	for _, limits := range []source.Limits{{Bytes: 1000}, {Bytes: 50}, {Files: 1}} {
		spec := specOf(r, "v1")
		spec.Limits = limits
		refused(t, newStore(t), spec, source.LimitExceeded)
	}
}

func TestASilentRegistryIsGivenUp(t *testing.T) {
	end := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(end) })
	spec := source.Spec{Kind: source.OCI, URL: "oci://" + strings.TrimPrefix(silent.URL, "http://") + "/x", Timeout: 200 * time.Millisecond, Insecure: true}
	refused(t, newStore(t), spec, source.Timeout)
}
