package archive_test

import (
	"crypto/sha512"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/archive"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// serve answers each path with what is served at it, and counts the requests.
func serve(t *testing.T, files map[string][]byte) (url string, asked *int) {
	t.Helper()
	asked = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		*asked++
		data, ok := files[q.URL.Path]
		if to, moved := strings.CutPrefix(string(data), "to "); moved {
			http.Redirect(w, q, to, http.StatusFound)
			return
		}
		if !ok {
			http.NotFound(w, q)
			return
		}
		_, _ = w.Write(data) // a client that went away
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func newStore(t *testing.T, servers egress.Policy) *archive.Store {
	t.Helper()
	packs, err := pack.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &archive.Store{Packs: packs, Servers: servers}
}

var loopback = egress.Policy{Allowed: []string{"127.0.0.0/8"}}

func TestAnArchiveIsFetchedOnce(t *testing.T) {
	data := ocitest.Archive(map[string]string{"a.yaml": "a: 1", "logo.png": "x"})
	url, asked := serve(t, map[string][]byte{"/a.tar.gz": data})
	s := newStore(t, loopback)
	spec := source.Spec{Kind: source.Archive, URL: url + "/a.tar.gz", Ref: source.Ref{Name: ocitest.Digest(data), Tag: "main@sha1:0123"}, Whole: true, Origin: "v1"}
	for range 2 {
		a, err := s.Fetch(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		content, err := fs.ReadFile(a.Files, "a.yaml")
		if string(content) != "a: 1" || err != nil || a.Revision != "main@sha1:0123" || a.Metadata[source.OriginRevision] != "v1" {
			t.Errorf("%q, %v, %+v", content, err, a)
		}
		if _, err := fs.Stat(a.Files, "logo.png"); err != nil {
			t.Error("a file is left out:", err)
		}
	}
	spec.Ref.Name = fmt.Sprintf("sha512:%x", sha512.Sum512(data))
	if _, err := s.Fetch(t.Context(), spec); err != nil || *asked != 2 {
		t.Errorf("%v, %d requests", err, *asked)
	}
}

func TestAnArchiveThatIsWrongIsRefused(t *testing.T) {
	data := ocitest.Archive(map[string]string{"a.yaml": "a: 1"})
	text := []byte("no archive")
	url, _ := serve(t, map[string][]byte{"/a": data, "/text": text, "/out": []byte("to http://169.254.169.254/latest?token=secret"), "/file": []byte("to file:///etc/passwd")})
	for name, c := range map[string]struct {
		path, digest string
		want         source.Reason
	}{
		"another digest":        {"/a", ocitest.Digest(text), source.LayerFailed},
		"no archive":            {"/text", ocitest.Digest(text), source.LayerFailed},
		"absent":                {"/absent", ocitest.Digest(data), source.ReadFailed},
		"an unknown digest":     {"/a", "md5:00", source.ReadFailed},
		"a short digest":        {"/a", "sha256:00", source.ReadFailed},
		"another revision":      {"/a", "", source.ReadFailed},
		"a metadata service":    {"/out", ocitest.Digest(data), source.HostNotAllowed},
		"a file of the machine": {"/file", ocitest.Digest(data), source.ReadFailed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newStore(t, loopback).Fetch(t.Context(), source.Spec{Kind: source.Archive, URL: url + c.path + "?signature=secret", Ref: source.Ref{Name: c.digest}})
			var e *source.Error
			if !errors.As(err, &e) || e.Reason != c.want || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	_, err := newStore(t, egress.Policy{}).Fetch(t.Context(), source.Spec{URL: url + "/a", Ref: source.Ref{Name: ocitest.Digest(data)}})
	if !egress.IsRefused(err) {
		t.Errorf("a server of this machine is reached: %v", err)
	}
}
