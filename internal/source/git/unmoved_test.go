package git_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestAPollThatFindsNothingNewIsOneRequest, and whatever is new is fetched.
func TestAPollThatFindsNothingNewIsOneRequest(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "first"})
	r.Branch("main-and-more", r.Head())
	r.AnnotatedTag("v1", r.Head())
	for name, o := range map[string]gittest.HTTPOptions{
		"public": {}, "password": {Username: "u", Password: "p"}, "token": {BearerToken: "t"}, "client certificate": {TLS: true, ClientCert: true},
		"a URL with a slash at its end": {},
	} {
		server := gittest.ServeHTTP(t, r, o)
		s := newStore(t)
		refs := []source.Ref{{Branch: "main"}}
		switch name {
		case "public":
			refs = append(refs, source.Ref{Tag: "v1"}, source.Ref{Name: "HEAD"}, source.Ref{Name: "refs/heads/main"}, source.Ref{Any: "main"}, source.Ref{Any: "v1"})
		case "a URL with a slash at its end":
			server.URL += "/"
		}
		auth := source.Auth{Username: o.Username, Password: o.Password, BearerToken: o.BearerToken, CABundle: server.CABundle, ClientCert: server.ClientCert, ClientKey: server.ClientKey}
		for _, ref := range refs {
			spec := source.Spec{URL: server.URL, Ref: ref, Auth: auth}
			first := fetch(t, s, spec)
			before := server.Requests()
			if again := fetch(t, s, spec); again.Revision != first.Revision || again.Digest != first.Digest {
				t.Errorf("%s, %v: %s after %s", name, ref, again.Revision, first.Revision)
			}
			if n := server.Requests() - before; n != 1 {
				t.Errorf("%s, %v: %d requests", name, ref, n)
			}
		}
	}
}

// TestANameMayBeABranchsOrATags: that of a tag is asked for as that of a branch is, and the branch has it first. A name that nothing has costs the other
// references of the repository nothing.
func TestANameMayBeABranchsOrATags(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "first"})
	r.Tag("v1", "")
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s := newStore(t)
	spec := source.Spec{URL: server.URL, Ref: source.Ref{Any: "v1"}}
	asks := func(what, commit string, most int) {
		t.Helper()
		before := server.Requests()
		if got := fetch(t, s, spec); got.Revision != "v1@sha1:"+commit {
			t.Errorf("%s: %s, want %s", what, got.Revision, commit)
		}
		if n := server.Requests() - before; n > most {
			t.Errorf("%s: %d requests, want %d", what, n, most)
		}
	}
	asks("the first fetch", r.Head(), 2)
	if text := refused(t, s, source.Spec{URL: server.URL, Ref: source.Ref{Any: "none"}}, source.RefNotFound); !strings.Contains(text, `neither a branch nor a tag is called "none"`) {
		t.Error(text)
	}
	asks("a tag that has not moved", r.Head(), 1)
	tag := r.Head()
	r.Tag("v1", r.Commit(map[string]string{"a": "second"}, "second"))
	asks("a tag that has moved", r.Head(), 5)
	r.Branch("v1", tag)
	asks("a branch that is new", tag, 5)
	asks("a branch that has not moved", tag, 1)
	r.DeleteBranch("v1")
	asks("the tag again", r.Head(), 5)
}

// TestAReferenceThatHasMovedIsFetched, wherever it went.
func TestAReferenceThatHasMovedIsFetched(t *testing.T) {
	for name, c := range map[string]struct {
		ref  source.Ref
		move func(r *gittest.Repo)
	}{
		"a commit":        {source.Ref{Branch: "main"}, func(r *gittest.Repo) { r.Commit(map[string]string{"a": "second"}, "second") }},
		"another history": {source.Ref{Branch: "main"}, func(r *gittest.Repo) { r.ForcePush(map[string]string{"a": "other"}, "other") }},
		"another tag object": {source.Ref{Tag: "v1"}, func(r *gittest.Repo) {
			r.Commit(map[string]string{"a": "second"}, "second")
			r.Git("tag", "-d", "v1")
			r.AnnotatedTag("v1", r.Head())
		}},
	} {
		r := gittest.New(t, map[string]string{"a": "first"})
		r.AnnotatedTag("v1", r.Head())
		server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
		s := newStore(t)
		spec := source.Spec{URL: server.URL, Ref: c.ref}
		for range 2 {
			fetch(t, s, spec)
		}
		c.move(r)
		got := fetch(t, s, spec)
		if !strings.HasSuffix(got.Revision, r.Head()) {
			t.Errorf("%s: fetched %s, want %s", name, got.Revision, r.Head())
		}
		read(t, got.Files, "a", r.Git("show", "main:a"))
	}
}

func TestAReferenceThatIsGoneIsSaidToBe(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "first"})
	r.Branch("feature", r.Head())
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s := newStore(t)
	spec := source.Spec{URL: server.URL, Ref: source.Ref{Branch: "feature"}}
	fetch(t, s, spec)
	r.DeleteBranch("feature")
	r.Branch("feature-2", r.Head()) // begins with the name
	if text := refused(t, s, spec, source.RefNotFound); !strings.Contains(text, "feature-2") {
		t.Errorf("%q names no other branch", text)
	}
}

// TestAnAnswerThatSaysNothingIsLeftToAFetch: each of them comes in the place of the answer to the one small request, and the fetch after it has none of them.
func TestAnAnswerThatSaysNothingIsLeftToAFetch(t *testing.T) {
	const result = "application/x-git-upload-pack-result"
	zero := strings.Repeat("0", 40)
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
		asked  int64 // small requests of a first fetch and two polls
	}{
		"an error":               {http.StatusInternalServerError, "text/plain", "away", 3},
		"an older protocol":      {http.StatusOK, result, "0030ERR upload-pack: not our ref command=ls-refs0000", 1},
		"a page":                 {http.StatusOK, "text/html", "<html>", 1},
		"no such method":         {http.StatusNotImplemented, "text/plain", "", 1},
		"nothing":                {http.StatusOK, result, "", 3},
		"no references":          {http.StatusOK, result, "0000", 3},
		"another reference":      {http.StatusOK, result, "0041" + zero + " refs/heads/mainland\n0000", 3},
		"cut off":                {http.StatusOK, result, "003d" + zero + " refs/hea", 3},
		"a length that is wrong": {http.StatusOK, result, "zzzz", 1},
		"somewhere else":         {http.StatusFound, "text/plain", "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t, map[string]string{"a": "first"})
			var asked atomic.Int64
			server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, q *http.Request) bool {
				if q.Header.Get("User-Agent") != "git/truce" {
					return false
				}
				asked.Add(1)
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body) // the client may have gone
				return true
			}})
			s := newStore(t)
			fetch(t, s, mainOf(server.URL))
			for n := range 2 {
				r.Commit(map[string]string{"a": fmt.Sprint("commit ", n)}, "next")
				if got := fetch(t, s, mainOf(server.URL)); !strings.HasSuffix(got.Revision, r.Head()) {
					t.Errorf("fetched %s, want %s", got.Revision, r.Head())
				}
			}
			if n := asked.Load(); n != c.asked {
				t.Errorf("it is asked %d times, want %d", n, c.asked)
			}
		})
	}
}

// TestASilentAnswerIsLeftToAFetch: git has the rest of the time, of a first fetch and of a poll.
func TestASilentAnswerIsLeftToAFetch(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "first"})
	var asked atomic.Int64
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, _ http.ResponseWriter, q *http.Request) bool {
		silent := q.Header.Get("User-Agent") == "git/truce"
		if silent {
			asked.Add(1)
			_, _ = io.Copy(io.Discard, q.Body) // net/http sees that a client has gone once it has read all
			<-q.Context().Done()
		}
		return silent
	}})
	s, spec := newStore(t), mainOf(server.URL)
	spec.Timeout = 9 * time.Second
	fetch(t, s, spec)
	r.Commit(map[string]string{"a": "second"}, "next")
	if got := fetch(t, s, spec); !strings.HasSuffix(got.Revision, r.Head()) || asked.Load() != 2 {
		t.Errorf("fetched %s after %d silent answers, want %s", got.Revision, asked.Load(), r.Head())
	}
}

// TestAPollGoesOnToTheNextAddress where the first one of a server does not answer.
func TestAPollGoesOnToTheNextAddress(t *testing.T) {
	server := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"a": "first"}), gittest.HTTPOptions{})
	s, spec := newStore(t), mainOf(server.URL)
	spec.Addresses = "127.0.0.255,127.0.0.1"
	fetch(t, s, spec)
	before := server.Requests()
	fetch(t, s, spec)
	if n := server.Requests() - before; n != 1 {
		t.Errorf("%d requests of a poll that finds nothing new", n)
	}
}
