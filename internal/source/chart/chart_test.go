package chart_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chart"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// loopback allows the servers of tests.
var loopback = egress.Policy{Allowed: []string{"127.0.0.0/8", "::1"}}

const secret = "password-of-a-test"

func newStore(t testing.TB) *chart.Store {
	t.Helper()
	packs, err := pack.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &chart.Store{Packs: packs, Servers: loopback}
}

// specOf is a chart of a repository; of the index for an empty name.
func specOf(r *charttest.Repository, name, version string) source.Spec {
	return source.Spec{
		Kind: source.HelmRepository, URL: r.URL(), Chart: source.Chart{Name: name, Version: version},
		Auth: source.Auth{Username: "ada", Password: secret, Secret: "apps/login"},
	}
}

func fetch(t testing.TB, s *chart.Store, spec source.Spec) source.Artifact {
	t.Helper()
	a, err := s.Fetch(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// refused wants an error for a reason, and returns its text, which has no credential in it.
func refused(t testing.TB, s *chart.Store, spec source.Spec, reason source.Reason) string {
	t.Helper()
	a, err := s.Fetch(t.Context(), spec)
	var e *source.Error
	if !errors.As(err, &e) || e.Reason != reason {
		t.Fatalf("%v, %v, want %s", a.Revision, err, reason)
	}
	if strings.Contains(err.Error(), secret) || strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("the message is %q", err)
	}
	return err.Error()
}

// redirectTo is a server that sends all requests to an address.
func redirectTo(t *testing.T, address string) string {
	t.Helper()
	s := httptest.NewServer(http.RedirectHandler(address, http.StatusFound))
	t.Cleanup(s.Close)
	return s.URL
}

// isRejected reports whether a fetch ends because the repository does not know the credentials.
func isRejected(t testing.TB, s *chart.Store, spec source.Spec) bool {
	t.Helper()
	_, err := s.Fetch(t.Context(), spec)
	var e *source.Error
	return errors.As(err, &e) && e.Rejected
}

func versionOf(a source.Artifact) string {
	v, _, _ := strings.Cut(a.Revision, "@")
	return v
}

func TestAChartIsFetchedByNameAndRange(t *testing.T) {
	r, s := charttest.New(t), newStore(t)
	r.Demand("ada", secret)
	for _, v := range []string{"1.0.0", "1.2.0", "1.10.0", "2.0.0-rc.1", "0.9.0", "v3.0.0-beta", "no-version"} {
		r.Push("web", v, map[string]string{"values.yaml": "of: " + v + "\n"})
	}
	for wanted, want := range map[string]string{
		"": "1.10.0", "*": "1.10.0", "1.x": "1.10.0", "~1.2": "1.2.0", "<1.0.0": "0.9.0", "1.0.0": "1.0.0", ">=1.0.0-0 <3.0.0-0": "2.0.0-rc.1",
		">0-0": "v3.0.0-beta", "no-version": "no-version", "2.0.0-rc.1": "2.0.0-rc.1",
	} {
		a := fetch(t, s, specOf(r, "web", wanted))
		text, err := fs.ReadFile(a.Files, "web/values.yaml")
		if err != nil || versionOf(a) != want || string(text) != "of: "+want+"\n" {
			t.Errorf("version %q: %s with %q, %v, want %s", wanted, a.Revision, text, err, want)
		}
	}
	if got := refused(t, s, specOf(r, "web", "^4"), source.ChartReference); !strings.Contains(got, `no version of it matches "^4"`) {
		t.Error(got)
	}
	if got := refused(t, s, specOf(r, "web", "not a range"), source.ChartReference); !strings.Contains(got, "neither a version of it nor a range") {
		t.Error(got)
	}
	if got := refused(t, s, specOf(r, "other", ""), source.ChartReference); !strings.Contains(got, "no chart of that name") {
		t.Error(got)
	}
}

func TestAnIndexThatIsNamedCostsNoRequest(t *testing.T) {
	r, s := charttest.New(t), newStore(t)
	r.Push("web", "1.0.0", nil)
	index := fetch(t, s, specOf(r, "", ""))
	pinned := specOf(r, "web", "")
	pinned.Chart.Index = index.Revision
	fetch(t, s, pinned)
	r.Requests()
	r.Push("web", "2.0.0", nil)
	if a := fetch(t, s, pinned); versionOf(a) != "1.0.0" {
		t.Errorf("%s is not of the index that was named", a.Revision)
	}
	if got := r.Requests(); len(got) != 0 {
		t.Errorf("it asks %v", got)
	}
	if a := fetch(t, s, specOf(r, "web", "")); versionOf(a) != "2.0.0" {
		t.Errorf("%s is not of the index as it is", a.Revision)
	}
	fetch(t, s, specOf(r, "web", ""))
	want := []string{"GET /charts/index.yaml 200", "GET /charts/web-2.0.0.tgz 200", "GET /charts/index.yaml 304"}
	if diff := cmp.Diff(want, r.Requests()); diff != "" {
		t.Error(diff)
	}
}

// age makes all that is stored in a directory look as if it was last used long ago.
func age(t *testing.T, dir string) {
	t.Helper()
	before := time.Now().Add(-48 * time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, before, before))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAnIndexInUseIsKept: it is in no artifact where charts are fetched by name and range.
func TestAnIndexInUseIsKept(t *testing.T) {
	dir := t.TempDir()
	packs, err := pack.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, s := charttest.New(t), &chart.Store{Packs: packs, Servers: loopback}
	r.Push("web", "1.0.0", nil)
	held := fetch(t, s, specOf(r, "web", ""))
	poll := func(want ...string) {
		t.Helper()
		r.Requests()
		fetch(t, s, specOf(r, "web", ""))
		if diff := cmp.Diff(want, r.Requests()); diff != "" {
			t.Error(diff)
		}
	}
	const unchanged, fetched = "GET /charts/index.yaml 304", "GET /charts/index.yaml 200"
	for range 2 { // each poll counts as a use of the index
		age(t, dir)
		poll(unchanged)
		if err := packs.Retain([]source.Artifact{held}, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	poll(unchanged)
	age(t, dir) // without a poll it is removed, and the next poll brings it again
	if err := packs.Retain([]source.Artifact{held}, 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	poll(fetched)
	poll(unchanged)
}

func TestCredentialsReachTheRepositoryAlone(t *testing.T) {
	r, other, s := charttest.New(t), charttest.New(t), newStore(t)
	r.Demand("ada", secret)
	archive := charttest.Package("web", "1.0.0", nil)
	other.Put("/far.tgz", archive)
	r.PushAt("web", "1.0.0", other.Server.URL+"/far.tgz", archive)
	fetch(t, s, specOf(r, "web", ""))
	if other.Presented() {
		t.Fatal("another server was sent credentials")
	}
	// Nor where the own server redirects to another one.
	spec := specOf(r, "web", "2.0.0")
	spec.URL = redirectTo(t, other.Server.URL+"/far.tgz") + "/charts"
	other.Put("/far.tgz", []byte("apiVersion: v1\nentries: {}\n"))
	refused(t, s, spec, source.ChartReference)
	if other.Presented() {
		t.Fatal("a redirect was sent credentials")
	}
	// passCredentials sends them there.
	other.Put("/far.tgz", archive)
	other.Demand("ada", secret)
	r.Remove("web")
	r.PushAt("web", "3.0.0", other.Server.URL+"/far.tgz?3", archive)
	if got := refused(t, newStore(t), specOf(r, "web", ""), source.ChartPull); !strings.Contains(got, "spec.passCredentials") {
		t.Error(got)
	}
	spec = specOf(r, "web", "")
	spec.Chart.Elsewhere = true
	fetch(t, newStore(t), spec)
	if !other.Presented() {
		t.Error("passCredentials sent none")
	}
}

func TestWrongCredentialsAreNamedByTheirSecret(t *testing.T) {
	r, s := charttest.New(t), newStore(t)
	r.Demand("ada", "another")
	if got := refused(t, s, specOf(r, "web", ""), source.ChartPull); !strings.Contains(got, "401 Unauthorized to the credentials of Secret apps/login") {
		t.Error(got)
	}
	spec := specOf(r, "", "")
	if !isRejected(t, s, spec) {
		t.Error("wrong credentials are tried again at once")
	}
	spec.Auth = source.Auth{}
	if got := refused(t, s, spec, source.RepositoryFailed); !strings.Contains(got, "no credentials for it are given") || isRejected(t, s, spec) {
		t.Error(got)
	}
}

func TestBadArchivesAndIndexes(t *testing.T) {
	r, s := charttest.New(t), newStore(t)
	good := charttest.Package("web", "1.0.0", map[string]string{"values.yaml": strings.Repeat("a: 1\n", 1000)})
	r.PushAt("cut", "1.0.0", "cut.tgz", good[:len(good)/2])
	r.PushAt("noise", "1.0.0", "noise.tgz", []byte("<html>not found</html>"))
	r.PushAt("climbs", "1.0.0", "climbs.tgz", ocitest.Archive(map[string]string{"../web/Chart.yaml": "x"}))
	r.PushAt("bomb", "1.0.0", "bomb.tgz", zeros(t, 110<<20))
	r.PushAt("large", "1.0.0", "large.tgz", ocitest.Archive(map[string]string{"web/noise": noise(11 << 20)}))
	r.PushAt("oci", "1.0.0", "oci://registry.example/web:1.0.0", good)
	r.PushAt("file", "1.0.0", "file:///etc/passwd", good)
	r.PushAt("login", "1.0.0", "https://user:pw@host.example/web.tgz", good)
	r.PushAt("changed", "1.0.0", "changed.tgz", good)
	r.Put("/charts/changed.tgz", charttest.Package("web", "1.0.0", nil))
	for name, want := range map[string]struct {
		reason source.Reason
		text   string
	}{
		"cut":     {source.ChartPull, "no tar archive"},
		"noise":   {source.ChartPull, "no tar archive"},
		"climbs":  {source.PathEscape, "leads out of it"},
		"bomb":    {source.LimitExceeded, "unpacks to more than"},
		"large":   {source.LimitExceeded, "the archive of a chart has more than"},
		"oci":     {source.ChartReference, "type: oci"},
		"file":    {source.ChartReference, "is none"},
		"login":   {source.ChartReference, "is none"},
		"changed": {source.ChartPull, "not that of its digest"},
	} {
		if got := refused(t, s, specOf(r, name, ""), want.reason); !strings.Contains(got, want.text) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for index, want := range map[string]string{
		"<html>":                         "neither JSON nor",
		"entries: {}\n":                  "no API version",
		"{\"apiVersion\": \"v1\"":        "no JSON",
		"apiVersion: v1\nentries: [1]\n": "cannot unmarshal",
	} {
		r.Put("/charts/index.yaml", []byte(index))
		for range 2 { // the second time it is on the disk
			if got := refused(t, s, specOf(r, "", ""), source.IndexationFailed); !strings.Contains(got, want) && !strings.Contains(got, "yaml") {
				t.Errorf("%q: %s", index, got)
			}
		}
	}
}

// noise is what cannot be compressed.
func noise(size int) string {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // never fails
	return string(data)
}

// zeros is an archive that is small, and large when it is unpacked.
func zeros(t *testing.T, size int64) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "web/zeros", Mode: 0o644, Size: size}); err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 1<<20); size > 0; size -= int64(len(block)) {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAServerThatIsNotAllowedIsNotAsked(t *testing.T) {
	r, s := charttest.New(t), newStore(t)
	s.Servers = egress.Policy{}
	refused(t, s, specOf(r, "web", ""), source.HostNotAllowed)
	if got := r.Requests(); len(got) != 0 {
		t.Errorf("it was asked %v", got)
	}
	spec := specOf(r, "web", "")
	spec.URL = "https://user:" + secret + "@host.example"
	refused(t, s, spec, source.URLInvalid)
}

// TestPassedCredentialsDoNotFollowARedirect: passCredentials is for the servers that the index names, and for no server that one of them redirects to.
func TestPassedCredentialsDoNotFollowARedirect(t *testing.T) {
	r, other, s := charttest.New(t), charttest.New(t), newStore(t)
	r.Demand("ada", secret)
	archive := charttest.Package("web", "1.0.0", nil)
	other.Put("/far.tgz", archive)
	r.PushAt("web", "1.0.0", redirectTo(t, other.Server.URL+"/far.tgz")+"/web.tgz", archive)
	spec := specOf(r, "web", "")
	spec.Chart.Elsewhere = true
	fetch(t, s, spec)
	if other.Presented() {
		t.Error("a server that the index does not name was sent credentials")
	}
	other.Demand("ada", secret)
	if got := refused(t, newStore(t), spec, source.ChartPull); !strings.Contains(got, "not a server that the index names") {
		t.Error(got)
	}
	// Within a server that the index names they do.
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/near.tgz" {
			http.Redirect(w, q, "/far.tgz", http.StatusFound)
			return
		}
		other.ServeHTTP(w, q)
	}))
	t.Cleanup(mirror.Close)
	r.PushAt("web", "2.0.0", mirror.URL+"/near.tgz", archive)
	fetch(t, s, spec)
}

// An archive that was fetched with credentials is no other source's, whose server names its digest.
func TestAnArchiveIsNotSharedWithASourceWithoutItsCredentials(t *testing.T) {
	r, mine, s := charttest.New(t), charttest.New(t), newStore(t)
	r.Demand("ada", secret)
	r.Push("web", "1.0.0", map[string]string{"values.yaml": "private: 1\n"})
	fetch(t, s, specOf(r, "web", ""))
	mine.PushAt("web", "1.0.0", r.URL()+"/web-1.0.0.tgz", charttest.Package("web", "1.0.0", map[string]string{"values.yaml": "private: 1\n"}))
	spec := specOf(mine, "web", "")
	spec.Auth = source.Auth{}
	refused(t, s, spec, source.ChartPull)
}
