package git_test

import (
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// TestAFirstFetchIsTwoRequests where git makes three, and the clone is one that git goes on with.
func TestAFirstFetchIsTwoRequests(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a": "first"})
	r.Commit(map[string]string{"a": "second", "dir/b": strings.Repeat("b", 1<<17)}, "has a parent")
	r.AnnotatedTag("v1", r.Head())
	before := r.Head()
	s := newStore(t)
	for name, o := range map[string]gittest.HTTPOptions{"public": {}, "password": {Username: "u", Password: "p"}, "client certificate": {TLS: true, ClientCert: true}} {
		for ref, requests := range map[source.Ref]int{{Branch: "main"}: 2, {Tag: "v1"}: 2, {Name: "HEAD"}: 2, {Commit: before}: 1} {
			server := gittest.ServeHTTP(t, r, o)
			spec := source.Spec{URL: server.URL, Ref: ref, Auth: source.Auth{
				Username: o.Username, Password: o.Password, CABundle: server.CABundle, ClientCert: server.ClientCert, ClientKey: server.ClientKey,
			}}
			got := fetch(t, s, spec)
			if want := fetch(t, s, source.Spec{URL: r.Dir, Ref: ref}); got.Revision != want.Revision || got.Digest != want.Digest {
				t.Errorf("%s, %v: %s with %s, want %s with %s", name, ref, got.Revision, got.Digest, want.Revision, want.Digest)
			}
			if n := server.Requests(); n != requests {
				t.Errorf("%s, %v: %d requests, want %d", name, ref, n, requests)
			}
		}
	}
}

// TestWhatFollowsAFirstFetchIsFetchedByGit into the same clone, which git finds to be whole.
func TestWhatFollowsAFirstFetchIsFetchedByGit(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a": "first"})
	r.Commit(map[string]string{"a": "second"}, "has a parent")
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	dir := t.TempDir()
	s := storeIn(t, dir)
	for n := range 3 {
		got := fetch(t, s, mainOf(server.URL))
		if !strings.HasSuffix(got.Revision, r.Head()) {
			t.Errorf("fetched %s, want %s", got.Revision, r.Head())
		}
		clone := onlyClone(t, dir)
		out, err := exec.Command("git", "--git-dir", clone, "fsck", "--strict", "--no-dangling", "--connectivity-only").CombinedOutput()
		if text := strings.ReplaceAll(string(out), "notice: No default references\n", ""); strings.Contains(text, "missing") || strings.Contains(text, "broken") {
			t.Errorf("%v: %s", err, text)
		}
		r.Commit(map[string]string{"a": fmt.Sprint("commit ", n)}, "next")
	}
}

// TestAFirstFetchThatFailsIsLeftToGit, whatever the server answers to truce's own request.
func TestAFirstFetchThatFailsIsLeftToGit(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a": "first"})
	other := gittest.New(t, map[string]string{"a": "of another repository"})
	pack := packOf(t, other, other.Head())
	parts := packOf(t, r, r.Git("rev-parse", "main^{tree}")) // without the commit
	for name, answer := range map[string]string{
		"nothing":                    "",
		"the end":                    packet("packfile\n") + "0000",
		"no pack":                    packet("packfile\n") + packet("\x01no pack") + "0000",
		"a failure":                  packet("packfile\n") + packet("\x03out of order") + "0000",
		"an error":                   packet("ERR not our ref"),
		"a line that is not known":   packet("wanted-refs\n"),
		"no end of lines":            strings.Repeat("0001", 100),
		"cut off":                    packet("packfile\n") + packet("\x01" + pack)[:len(pack)-2],
		"without an end":             packet("packfile\n") + packet("\x01"+pack),
		"what was not asked for":     packet("packfile\n") + packet("\x01"+pack) + "0000",
		"not all that was asked for": packet("packfile\n") + packet("\x01"+parts) + "0000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, q *http.Request) bool {
				if !isOwnFetch(q) {
					return false
				}
				asked++
				w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				_, _ = io.WriteString(w, answer) // the client may have gone
				return true
			}})
			if got := fetch(t, newStore(t), mainOf(server.URL)); !strings.HasSuffix(got.Revision, r.Head()) || asked != 1 {
				t.Errorf("fetched %s after %d answers, want %s", got.Revision, asked, r.Head())
			}
		})
	}
}

// TestAFirstFetchThatHasFailedIsLeftToGitFromThenOn: as long as git fails too, the clone is empty, and a look would ask for all twice.
func TestAFirstFetchThatHasFailedIsLeftToGitFromThenOn(t *testing.T) {
	t.Parallel()
	asked := 0
	server := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"a": "first"}), gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, q *http.Request) bool {
		switch {
		case isOwnFetch(q):
			asked++
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			return true
		case q.Method == http.MethodGet: // git's first
			http.Error(w, "away", http.StatusInternalServerError)
			return true
		}
		return false
	}})
	s := newStore(t)
	for range 3 {
		refused(t, s, mainOf(server.URL), source.GitOperationFailed)
	}
	if asked != 1 {
		t.Errorf("truce has asked %d times itself", asked)
	}
}

// TestAFirstFetchIsBounded by what it may bring; git is not asked for the same again.
func TestAFirstFetchIsBounded(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, map[string]string{"a": "first"})
	own := false
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, q *http.Request) bool {
		if !isOwnFetch(q) {
			return false
		}
		own = true
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		// A pack of one file of 1 GiB (gitformat-pack(5)), which is not compressed.
		send(w, packet("packfile\n")+packet("\x01PACK\x00\x00\x00\x02\x00\x00\x00\x01"+"\xb0\x80\x80\x80\x20"))
		file, err := zlib.NewWriterLevel(inBand{w}, zlib.NoCompression)
		for err == nil {
			_, err = file.Write(make([]byte, 1<<15))
		}
		return true
	}})
	spec := mainOf(server.URL)
	spec.Limits.Bytes = 1 << 16
	if text := refused(t, newStore(t), spec, source.LimitExceeded); !own || server.Requests() != 2 || !strings.Contains(text, "the server sent more than 262144 bytes") {
		t.Errorf("%s after %d requests", text, server.Requests())
	}
}

// inBand writes parts of a pack.
type inBand struct{ to http.ResponseWriter }

func (b inBand) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, 60_000) {
		if !send(b.to, packet("\x01"+string(part))) {
			return 0, io.ErrClosedPipe
		}
	}
	return len(p), nil
}

// isOwnFetch reports whether a request is truce's own, for objects. It takes the first bytes of it.
func isOwnFetch(q *http.Request) bool {
	const command = "0012command=fetch\n"
	if q.Header.Get("User-Agent") != "git/truce" {
		return false
	}
	head := make([]byte, len(command))
	_, err := io.ReadFull(q.Body, head)
	q.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(string(head)), q.Body), q.Body}
	return err == nil && string(head) == command
}

// packOf is a pack with what an object leads to, but without parents.
func packOf(t *testing.T, r *gittest.Repo, object string) string {
	t.Helper()
	cmd := exec.Command("git", "--git-dir", r.Dir, "pack-objects", "--revs", "--stdout", "-q")
	cmd.Stdin = strings.NewReader(object + "\n")
	out, err := cmd.Output()
	must(t, err)
	return string(out)
}
