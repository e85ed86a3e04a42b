package bucket_test

import (
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/bucket"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/testing/s3test"
)

// loopback allows the servers of tests.
var loopback = egress.Policy{Allowed: []string{"127.0.0.0/8", "::1"}}

const (
	access = "access-key"
	secret = "secret-key-of-a-test"
)

func storeIn(t testing.TB, dir string, servers egress.Policy) *bucket.Store {
	t.Helper()
	packs, err := pack.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &bucket.Store{Packs: packs, Servers: servers}
}

func newStore(t testing.TB) *bucket.Store { return storeIn(t, t.TempDir(), loopback) }

// storage is an object storage that demands signatures, with these objects.
func storage(t testing.TB, objects map[string]string) *s3test.Storage {
	t.Helper()
	s := s3test.New(t)
	s.Demand(access, secret)
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		s.Put(key, objects[key])
	}
	return s
}

func specOf(s *s3test.Storage) source.Spec {
	return source.Spec{
		Kind: source.ObjectStorage, URL: s.Server.URL, Bucket: source.Bucket{Name: s3test.Bucket},
		Auth: source.Auth{Username: access, Password: secret, Secret: "apps/login"},
	}
}

func fetch(t testing.TB, s *bucket.Store, spec source.Spec) source.Artifact {
	t.Helper()
	a, err := s.Fetch(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// refused wants an error for a reason, and returns its text, which has no credential in it.
func refused(t testing.TB, s *bucket.Store, spec source.Spec, reason source.Reason) string {
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

// filesOf are the paths and contents of an artifact.
func filesOf(t testing.TB, a source.Artifact) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(a.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(a.Files, name)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func revisionOf(lines string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(lines))) }

func TestABucketIsFetched(t *testing.T) {
	s := s3test.New(t)
	s.Demand(access, secret)
	s.PutTagged("b/app.yaml", "a: 1\n", "tag-b")
	s.PutTagged("a ü+%.yaml", "b: 1\n", "tag-a")
	s.PutTagged("logo.png", "x", "tag-logo")
	s.PutTagged("b/", "", "tag-folder")
	s.PutTagged("empty", "", "tag-empty")
	a := fetch(t, newStore(t), specOf(s))
	want := revisionOf("a ü+%.yaml tag-a\nb/app.yaml tag-b\nempty tag-empty\n") // Flux's form
	if a.Revision != want || "sha256:"+a.Commit != want || a.Repository != s.Host+"/files" || a.Time.IsZero() {
		t.Errorf("%+v, want %s", a, want)
	}
	if diff := cmp.Diff(map[string]string{"a ü+%.yaml": "b: 1\n", "b/app.yaml": "a: 1\n", "empty": ""}, filesOf(t, a)); diff != "" {
		t.Error(diff)
	}
	pinned := specOf(s)
	pinned.Ref = source.Ref{Commit: a.Commit}
	fetch(t, newStore(t), pinned)
	pinned.Ref = source.Ref{Commit: strings.Repeat("0", 64)}
	refused(t, newStore(t), pinned, source.BucketFailed)
}

// TestAPollThatFindsNothingNewIsOneList counts what the storage is asked, after a restart, too.
func TestAPollThatFindsNothingNewIsOneList(t *testing.T) {
	s := storage(t, map[string]string{"a": "1", "b": "2", "c": "3", ".sourceignore": "/c\n"})
	dir := t.TempDir()
	store := storeIn(t, dir, loopback)
	first := fetch(t, store, specOf(s))
	s.Requests()
	if second := fetch(t, store, specOf(s)); second.Digest != first.Digest || second.Revision != first.Revision {
		t.Errorf("%+v", second)
	}
	list := "GET /files?list"
	if got := s.Requests(); !slices.Equal(got, []string{list}) {
		t.Errorf("a poll without news: %v", got)
	}
	if again := fetch(t, storeIn(t, dir, loopback), specOf(s)); again.Digest != first.Digest || again.Revision != first.Revision {
		t.Errorf("%+v", again)
	}
	if got := s.Requests(); !slices.Equal(got, []string{list, "GET /files/.sourceignore"}) {
		t.Errorf("after a restart: %v", got)
	}
	s.Put("b", "new")
	s.Put("d", "4")
	s.Remove("a")
	third := fetch(t, store, specOf(s))
	if diff := cmp.Diff(map[string]string{"b": "new", "d": "4"}, filesOf(t, third)); diff != "" {
		t.Error(diff)
	}
	got := s.Requests()
	slices.Sort(got)
	if !slices.Equal(got, []string{"GET /files/b", "GET /files/d", list}) {
		t.Errorf("of four objects two are new: %v", got)
	}
	s.Put(".sourceignore", "/b\n")
	if diff := cmp.Diff(map[string]string{"c": "3", "d": "4"}, filesOf(t, fetch(t, store, specOf(s)))); diff != "" {
		t.Error(diff)
	}
}

func TestAPrefixLeavesTheIgnoreFileOfTheRoot(t *testing.T) {
	s := storage(t, map[string]string{"apps/a": "1", "apps/b": "2", "other/c": "3", ".sourceignore": "/apps/b\n"})
	spec := specOf(s)
	spec.Bucket.Prefix = "apps/"
	store := newStore(t)
	want := map[string]string{"apps/a": "1"}
	if diff := cmp.Diff(want, filesOf(t, fetch(t, store, spec))); diff != "" {
		t.Error(diff)
	}
	s.Requests()
	fetch(t, store, spec)
	if got := s.Requests(); !slices.Equal(got, []string{"GET /files?list", "GET /files/.sourceignore"}) { // 304
		t.Errorf("a poll without news: %v", got)
	}
	spec.Ignore = "!/apps/b"
	want["apps/b"] = "2"
	if diff := cmp.Diff(want, filesOf(t, fetch(t, newStore(t), spec))); diff != "" {
		t.Errorf("the source's own lines come last: %s", diff)
	}
	s.Remove(".sourceignore")
	spec.Ignore = ""
	if diff := cmp.Diff(want, filesOf(t, fetch(t, store, spec))); diff != "" {
		t.Error(diff)
	}
}

func TestAListHasPages(t *testing.T) {
	objects := map[string]string{}
	for i := range 25 {
		objects[fmt.Sprintf("dir/%02d", i)] = fmt.Sprint(i)
	}
	s := storage(t, objects)
	s.Pages(10)
	if diff := cmp.Diff(objects, filesOf(t, fetch(t, newStore(t), specOf(s)))); diff != "" {
		t.Error(diff)
	}
	spec := specOf(s)
	spec.Limits = source.Limits{Files: 2}
	if text := refused(t, newStore(t), spec, source.LimitExceeded); !strings.Contains(text, "spec.prefix") {
		t.Error(text)
	}
}

func TestTheRegionIsFoundOut(t *testing.T) {
	s := storage(t, map[string]string{"a": "1"})
	s.Move("eu-central-9")
	store := newStore(t)
	fetch(t, store, specOf(s))
	s.Requests()
	fetch(t, store, specOf(s))
	if got := s.Requests(); len(got) != 1 {
		t.Errorf("the region is found out once: %v", got)
	}
	spec := specOf(s)
	if spec.Bucket.Region = "eu-central-9"; fetch(t, newStore(t), spec).Digest == "" {
		t.Error("no digest")
	}
	spec.Bucket.Region = "us-east-1"
	if text := refused(t, newStore(t), spec, source.BucketFailed); !strings.Contains(text, "spec.region: it is in \"eu-central-9\"") {
		t.Error(text)
	}
}

// TestAFaultOfAStorageIsNamed breaks one thing after the other. What was fetched before is not lost.
func TestAFaultOfAStorageIsNamed(t *testing.T) {
	s := storage(t, map[string]string{"a": "one", "b": "two"})
	store, spec := newStore(t), specOf(s)
	first := fetch(t, store, spec)
	wants := func(spec source.Spec, reason source.Reason, text string) {
		t.Helper()
		if got := refused(t, store, spec, reason); !strings.Contains(got, text) {
			t.Errorf("the message is %q, want %q", got, text)
		}
	}
	other := spec
	other.Auth.Password = "wrong-secret-key"
	wants(other, source.BucketFailed, "403 Forbidden (SignatureDoesNotMatch) to the credentials of Secret apps/login")
	other.Auth = source.Auth{}
	wants(other, source.BucketFailed, "403 Forbidden (AccessDenied), and no credentials for it are given")
	other = spec
	other.Bucket.Name = "none"
	wants(other, source.BucketFailed, `bucket "none" does not exist`)
	other = spec
	other.URL = strings.Replace(spec.URL, "http:", "https:", 1)
	wants(other, source.BucketFailed, "plain HTTP; set spec.insecure to true")

	for _, c := range []struct {
		path   string
		status int
		body   string
		text   string
	}{
		{"", 500, "<Error><Code>InternalError</Code><Message>" + secret + "</Message></Error>", "500 Internal Server Error (InternalError)"},
		{"", 503, "busy", "503 Service Unavailable"},
		{"", 307, "", "307 Temporary Redirect: the endpoint is another one"},
		{"", 200, "<html>", "no document of ListObjectsV2"},
		{"", 200, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "it does not serve ListObjectsV2"},
		{"", 200, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>", "the list does not end"},
		{"/c", 404, "<Error><Code>NoSuchKey</Code></Error>", `object "c": the server answers 404 Not Found (NoSuchKey)`},
		{"/c", 200, "two bytes", `object "c": it has changed while the bucket was read`},
	} {
		s.Put("c", "three")
		s.Fail(c.path, c.status, c.body)
		text := c.text
		if text == "the list does not end" {
			text = "the server's list does not end"
		}
		wants(spec, source.BucketFailed, text)
		s.Fail("", 0, "")
	}
	s.Cut("/c", 2)
	wants(spec, source.BucketFailed, `object "c"`)
	s.Fail("", 0, "")
	s.Remove("c")
	if again := fetch(t, store, spec); again.Digest != first.Digest {
		t.Errorf("%+v", again)
	}
	s.Stall()
	slow := spec
	slow.Timeout = 50 * time.Millisecond
	if text := refused(t, newStore(t), slow, source.Timeout); !strings.Contains(text, "no answer within 50ms") {
		t.Error(text)
	}
}

func TestAKeyThatIsNoPathFailsTheBucket(t *testing.T) {
	for _, keys := range [][]string{{"../a"}, {"/etc/passwd"}, {"a/../../b"}, {`..\a`}, {"a//b"}, {"a", "a/b"}, {"a", "a/b/c"}} {
		s := storage(t, map[string]string{"ok": "1"})
		store := newStore(t)
		fetch(t, store, specOf(s))
		for _, key := range keys {
			s.Put(key, "x")
		}
		refused(t, store, specOf(s), source.PathEscape)
	}
}

func TestABucketIsBounded(t *testing.T) {
	s := storage(t, map[string]string{"a": strings.Repeat("x", 100), "b": strings.Repeat("y", 100), "big.zip": strings.Repeat("z", 1000)})
	spec := specOf(s)
	spec.Limits = source.Limits{Bytes: 200}
	fetch(t, newStore(t), spec) // big.zip is excluded, and not downloaded
	if got := s.Requests(); slices.Contains(got, "GET /files/big.zip") {
		t.Errorf("%v", got)
	}
	spec.Limits = source.Limits{Bytes: 199}
	refused(t, newStore(t), spec, source.LimitExceeded)
	spec.Limits = source.Limits{Files: 1}
	refused(t, newStore(t), spec, source.LimitExceeded)
	spec.Limits, spec.Ignore = source.Limits{}, strings.Repeat("x\n", 10_001)
	refused(t, newStore(t), spec, source.LimitExceeded)
}

// An object that has not changed is copied from the disk, whatever its size.
func TestAnUnchangedObjectIsNotInMemory(t *testing.T) {
	const size = 32 << 20
	s := storage(t, map[string]string{"large": strings.Repeat("x", size), "small": "1"})
	store := newStore(t)
	fetch(t, store, specOf(s))
	s.Put("small", "2")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := fetch(t, store, specOf(s))
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size/2 {
		t.Errorf("%d bytes are allocated to copy an object of %d bytes", allocated, size)
	}
	if got := filesOf(t, a); len(got["large"]) != size || got["small"] != "2" {
		t.Errorf("%d bytes, and %q", len(got["large"]), got["small"])
	}
}

func TestTemporaryCredentialsAreUsedUntilTheyEnd(t *testing.T) {
	s := storage(t, map[string]string{"a": "1"})
	s.Admit("ann", "password-of-ann")
	spec := specOf(s)
	spec.Auth = source.Auth{}
	spec.Bucket.Tokens, spec.Bucket.User = s.Server.URL, source.Auth{Username: "ann", Password: "password-of-ann"}
	store := newStore(t)
	fetch(t, store, spec)
	fetch(t, store, spec)
	if n := s.Given(); n != 1 {
		t.Errorf("credentials were asked for %d times", n)
	}
	s.Admit("ann", "password-of-ann") // what was given holds no more
	refused(t, store, spec, source.BucketFailed)
	fetch(t, store, spec)
	if n := s.Given(); n != 2 {
		t.Errorf("credentials were asked for %d times", n)
	}
	spec.Bucket.User.Password = "wrong-password"
	text := refused(t, newStore(t), spec, source.BucketFailed)
	if !strings.Contains(text, "the token service (spec.sts): the server answers 403") || strings.Contains(text, "wrong-password") {
		t.Error(text)
	}
}

func TestAStorageIsReachedWithItsCertificates(t *testing.T) {
	s := s3test.NewTLS(t)
	s.Put("a", "1")
	spec := specOf(s)
	refused(t, newStore(t), spec, source.BucketFailed)
	spec.Auth.CABundle = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Server.Certificate().Raw}))
	fetch(t, newStore(t), spec)
}

// TestTheServersAloneAreReachedThatThePolicyAllows asks at this machine, which no source is at by default, itself and by a redirect.
func TestTheServersAloneAreReachedThatThePolicyAllows(t *testing.T) {
	s := storage(t, map[string]string{"a": "1"})
	refused(t, storeIn(t, t.TempDir(), egress.Policy{}), specOf(s), source.HostNotAllowed)
	if got := s.Requests(); len(got) != 0 {
		t.Errorf("the storage was asked: %v", got)
	}
	elsewhere := httptest.NewServer(http.RedirectHandler(s.Server.URL+"/files?list-type=2", http.StatusTemporaryRedirect))
	t.Cleanup(elsewhere.Close)
	spec := specOf(s)
	spec.URL = elsewhere.URL
	refused(t, newStore(t), spec, source.BucketFailed)
	if asked := s.Requests(); len(asked) != 0 {
		t.Errorf("a redirect was followed: %v", asked)
	}
}

// TestWhatOneSourceWasGivenIsNotGivenToAnother has two storages at one address, as a tenant's own proxy can be: an etag proves no content.
func TestWhatOneSourceWasGivenIsNotGivenToAnother(t *testing.T) {
	honest, evil := storage(t, nil), s3test.New(t)
	honest.PutTagged("a", "good", "tag")
	evil.PutTagged("a", "evil", "tag")
	dir := t.TempDir()
	spec := specOf(evil)
	proxied := spec
	proxied.URL, proxied.Auth.Proxy = honest.Server.URL, evil.Server.URL
	fetch(t, storeIn(t, dir, loopback), proxied)
	spec.URL = honest.Server.URL
	if got := filesOf(t, fetch(t, storeIn(t, dir, loopback), spec)); got["a"] != "good" {
		t.Errorf("%v", got)
	}
}

func TestADamagedCopyIsFetchedAgain(t *testing.T) {
	s := storage(t, map[string]string{"a": "right", "b": "other"})
	dir := t.TempDir()
	store := storeIn(t, dir, loopback)
	first := fetch(t, store, specOf(s))
	contents, err := filepath.Glob(filepath.Join(dir, "packs", "*", "content"))
	if err != nil || len(contents) != 1 {
		t.Fatal(contents, err)
	}
	if err := os.WriteFile(contents[0], []byte("wrongother"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(first.Files, "a"); err == nil {
		t.Fatalf("%q was read", data)
	}
	if got := filesOf(t, fetch(t, store, specOf(s))); got["a"] != "right" || got["b"] != "other" {
		t.Errorf("%v", got)
	}
}
