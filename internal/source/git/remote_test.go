package git_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestAPollFollowsTheBranchWhereverItGoes(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	for form, way := range mainTransports(t, r) {
		r.ForcePush(map[string]string{"a": "1"}, "start")
		spec := way.spec(source.Ref{Branch: "main"})
		first := fetch(t, way.store, spec)
		r.Commits(2)
		r.Commit(map[string]string{"a": "2"}, "next")
		second := fetch(t, way.store, spec)
		r.ForcePush(map[string]string{"a": "forced"}, "forced")
		third := fetch(t, way.store, spec)
		if third.Commit != r.Head() {
			t.Errorf("%s: a forced push is not followed", form)
		}
		for want, a := range map[string]source.Artifact{"1": first, "2": second, "forced": third} {
			if got, err := fs.ReadFile(a.Files, "a"); err != nil || string(got) != want {
				t.Errorf("%s: %q, want %q, %v", form, got, want, err)
			}
		}
		r.DeleteBranch("main")
		r.CommitTo("main/below", map[string]string{"a": "moved"}, "a branch below a former branch")
		refused(t, way.store, spec, source.RefNotFound)
		if got := fetch(t, way.store, way.spec(source.Ref{Branch: "main/below"})); got.Revision != "main/below@sha1:"+got.Commit {
			t.Errorf("%s: %s", form, got.Revision)
		}
		r.DeleteBranch("main/below")
	}
}

func TestAPollWithoutNewsTransfersLittle(t *testing.T) {
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("dir%d/file%d.yaml", i%20, i)] = strings.Repeat(strconv.Itoa(i*7919), 200)
	}
	r := gittest.New(t, files)
	var packed strings.Builder
	head := r.Head()
	for i := range 300 {
		fmt.Fprintf(&packed, "%s refs/heads/branch-with-a-rather-long-name-%03d\n", head, i)
	}
	must(t, os.WriteFile(filepath.Join(r.Dir, "packed-refs"), []byte(packed.String()), 0o600))
	r.Tag("v1.0.0", "")
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s := newStore(t)
	for name, tc := range map[string]struct {
		ref      source.Ref
		bytes    int64
		requests int
	}{
		"branch": {source.Ref{Branch: "main"}, 300, 1},
		"tag":    {source.Ref{Tag: "v1.0.0"}, 300, 1},
		"semver": {source.Ref{SemVer: "*"}, 1000, 2},
		"commit": {source.Ref{Commit: r.Head()}, 0, 0},
	} {
		spec := source.Spec{URL: server.URL, Ref: tc.ref}
		fetch(t, s, spec)
		bytes, requests := server.Bytes(), server.Requests()
		fetch(t, s, spec)
		bytes, requests = server.Bytes()-bytes, server.Requests()-requests
		t.Logf("%s: %d bytes in %d requests", name, bytes, requests)
		if bytes > tc.bytes || requests > tc.requests {
			t.Errorf("%s: %d bytes in %d requests, want at most %d in %d", name, bytes, requests, tc.bytes, tc.requests)
		}
	}
}

func TestCallersShareOneFetchThatBeganAfterThem(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	began, let := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	requests, at, most := 0, 0, 0
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		mu.Lock()
		requests++
		at++
		most = max(most, at)
		mu.Unlock()
		if n == 2 { // the references were sent, the objects were not
			close(began)
			<-let
		}
		mu.Lock()
		at--
		mu.Unlock()
		return false
	}})
	s := newStore(t)
	var wg sync.WaitGroup
	wg.Go(func() { fetch(t, s, mainOf(server.URL)) })
	<-began
	pushed := r.Commit(map[string]string{"a": "2"}, "while the first is under way")
	for range 50 {
		wg.Go(func() {
			if a := fetch(t, s, mainOf(server.URL)); a.Commit != pushed {
				t.Errorf("got %s, pushed before the call was %s", a.Commit, pushed)
			}
		})
	}
	close(let)
	wg.Wait()
	if most != 1 {
		t.Errorf("%d requests at once", most)
	}
	if requests > 12 { // a fetch has at most four
		t.Errorf("%d requests for 51 callers", requests)
	}
}

func TestOneCallerMayLeaveTheOthersStay(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	began, let := make(chan struct{}), make(chan struct{})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 1 {
			close(began)
			<-let
		}
		return false
	}})
	s := newStore(t)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.Fetch(ctx, mainOf(server.URL))
		left <- err
	}()
	<-began
	leave()
	err := <-left
	var e *source.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Reason != "" {
		t.Errorf("the one who left: %v", err)
	}
	close(let)
	fetch(t, s, mainOf(server.URL))
}

func TestASilentServerEndsInATimeout(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	web, ssh := gittest.ServeHTTP(t, r, gittest.HTTPOptions{}), gittest.ServeSSH(t, r)
	s := newStore(t)
	specs := []source.Spec{mainOf(web.URL), {URL: ssh.URL, Ref: source.Ref{Branch: "main"}, Auth: source.Auth{Identity: ssh.Identity, KnownHosts: ssh.KnownHosts}}}
	for _, spec := range specs {
		fetch(t, s, spec)
	}
	web.Hang()
	ssh.Hang()
	for _, spec := range specs {
		spec.Timeout = 300 * time.Millisecond
		if text := refused(t, s, spec, source.Timeout); !strings.Contains(text, "no answer within 300ms") {
			t.Error(text)
		}
	}
	eventually(t, "git processes end", func() bool { return len(children(t)) == 0 })
}

// children are the processes of this one that talk to a server.
func children(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		words := strings.Split(string(line), "\x00")
		environ, err := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if err == nil && strings.Contains(string(environ), "HOME="+os.TempDir()+"/"+t.Name()) && !slices.Contains(words, "cat-file") {
			found = append(found, strings.Join(words, " "))
		}
	}
	return found
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	ctx := within(t, time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

func TestAKilledFetchLeavesNothingBehind(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	dir := filepath.Join(t.TempDir(), "store")
	s, err := git.OpenStore(git.Options{Dir: dir, Servers: loopback})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fetch(t, s, mainOf(server.URL))
	clones, err := filepath.Glob(filepath.Join(dir, "clones", "*.git"))
	if err != nil || len(clones) != 1 {
		t.Fatal(clones, err)
	}
	refs, err := filepath.Glob(filepath.Join(clones[0], "refs/truce/*"))
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	// What git leaves when it is killed.
	for _, file := range []string{filepath.Join(clones[0], "shallow.lock"), refs[0] + ".lock", filepath.Join(clones[0], "packed-refs.lock"), filepath.Join(clones[0], "objects/pack/tmp_pack_x")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// And what an intruder would leave.
	planted := filepath.Join(t.TempDir(), "ran")
	config := "[core]\n\tsshCommand = touch " + planted + "\n\tfsmonitor = touch " + planted + "\n[url \"ext::touch " + planted + "\"]\n\tinsteadOf = http://\n"
	if err := os.WriteFile(filepath.Join(clones[0], "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	want := r.Commit(map[string]string{"a": "2"}, "second")
	if got := fetch(t, s, mainOf(server.URL)).Commit; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := os.Stat(planted); err == nil {
		t.Error("a planted command ran")
	}
	private, err := os.ReadDir(filepath.Join(dir, "run"))
	if err != nil || len(private) != 0 {
		t.Errorf("private files are left: %v, %v", private, err)
	}
}

func TestARepositoryThatVanishesIsAnError(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	for form, way := range mainTransports(t, r) {
		spec := way.spec(source.Ref{Branch: "main"})
		before := fetch(t, way.store, spec)
		if err := os.Rename(r.Dir, r.Dir+".gone"); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", form, refused(t, way.store, spec, source.GitOperationFailed))
		if err := os.Rename(r.Dir+".gone", r.Dir); err != nil {
			t.Fatal(err)
		}
		if after := fetch(t, way.store, spec); after.Revision != before.Revision {
			t.Errorf("%s: %s after its return, %s before", form, after.Revision, before.Revision)
		}
	}
	s := newStore(t)
	for _, url := range []string{"http://127.0.0.1:1/a.git", "https://nowhere.invalid/a.git"} {
		t.Log(refused(t, s, mainOf(url), source.GitOperationFailed))
	}
}

func TestAServerThatSendsWithoutEndIsStopped(t *testing.T) {
	noise := make([]byte, 3<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	r := gittest.New(t, map[string]string{"noise": string(noise)})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	slow := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, req *http.Request) bool {
		if req.Method == http.MethodGet {
			return false
		}
		return drip(w, req, server.URL)
	}})
	spec := mainOf(slow.URL)
	spec.Limits.Bytes = 100_000
	if text := refused(t, newStore(t), spec, source.LimitExceeded); !strings.Contains(text, "the server sent more than 400000 bytes") {
		t.Error(text)
	}
}

// drip passes a request on, and its answer back in small parts until the client has had enough.
func drip(w http.ResponseWriter, req *http.Request, to string) bool {
	base := to[:strings.LastIndex(to, "/")]
	out, err := http.NewRequestWithContext(req.Context(), req.Method, base+req.URL.Path, req.Body)
	if err != nil {
		return false
	}
	out.Header, out.ContentLength = req.Header, req.ContentLength
	answer, err := http.DefaultClient.Do(out)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := io.CopyN(w, answer.Body, 16<<10); err != nil {
			break
		}
		if err := http.NewResponseController(w).Flush(); err != nil || req.Context().Err() != nil {
			break
		}
	}
	return true
}
