package git_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// frugal opens a store whose git processes may use little memory.
func frugal(t *testing.T) *git.Store {
	t.Helper()
	return storeWith(t, 48<<20)
}

// storeWith is a store whose git processes may use so many bytes.
func storeWith(t *testing.T, memory int64) *git.Store {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	s, err := git.OpenStore(git.Options{Dir: filepath.Join(t.TempDir(), "store"), Executable: self, Servers: loopback, Memory: memory})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// endless are servers that do not stop.
var endless = map[string]func(w http.ResponseWriter, r *http.Request){
	"references of protocol 0": func(w http.ResponseWriter, _ *http.Request) {
		advertise(w, packet(strings.Repeat("ab", 20)+" HEAD\x00side-band-64k\n"))
		for i := 0; send(w, packet(fmt.Sprintf("%s refs/heads/%s/%d\n", strings.Repeat("ab", 20), strings.Repeat("x", 900), i))); i++ {
		}
	},
	"references of protocol 2": func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			advertise(w, packet("version 2\n")+packet("ls-refs=unborn\n")+packet("fetch=shallow\n")+"0000")
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		for i := 0; send(w, packet(fmt.Sprintf("%s refs/heads/%s/%d\n", strings.Repeat("ab", 20), strings.Repeat("x", 900), i))); i++ {
		}
	},
	"capabilities": func(w http.ResponseWriter, _ *http.Request) {
		advertise(w, packet("version 2\n"))
		for send(w, packet("x="+strings.Repeat("y", 60_000)+"\n")) {
		}
	},
	"an error's body": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusInternalServerError)
		for send(w, strings.Repeat("no ", 20_000)) {
		}
	},
	"a body that is no repository": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for send(w, strings.Repeat("<p>", 20_000)) {
		}
	},
}

func advertise(w http.ResponseWriter, first string) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	send(w, packet("# service=git-upload-pack\n")+"0000"+first)
}

// send reports whether the client still listens.
func send(w http.ResponseWriter, text string) bool {
	_, err := w.Write([]byte(text))
	return err == nil
}

// An endless answer ends at the limit on memory, long before the time is over.
func TestAnEndlessAnswerIsEnded(t *testing.T) {
	for name, serve := range endless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"a": "1"}), gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, r *http.Request) bool {
				serve(w, r)
				return true
			}})
			t.Log(refused(t, frugal(t), mainOf(server.URL), source.LimitExceeded))
		})
	}
}

// Within small limits an ordinary repository is fetched, over every transport.
func TestAnOrdinaryFetchNeedsLittle(t *testing.T) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("dir%d/file%d", i%40, i)] = strings.Repeat(fmt.Sprint(i), 200)
	}
	r := gittest.New(t, files)
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	fetch(t, frugal(t), mainOf(server.URL))
	ssh := gittest.ServeSSH(t, r)
	spec := mainOf(ssh.URL)
	spec.Auth = source.Auth{Identity: ssh.Identity, KnownHosts: ssh.KnownHosts}
	fetch(t, storeWith(t, sshMemory), spec)
}

// A small pack can hold files of any size. They are refused by their size, and never read into memory.
func TestAFileThatUnpacksToMuchIsRefused(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1", "bomb": strings.Repeat("\x00", 64<<20)})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	spec := mainOf(server.URL)
	spec.Limits.Bytes = 32 << 20
	t.Log(refused(t, frugal(t), spec, source.LimitExceeded))
}

// Trees that hold one another many times have more files than bytes.
func TestATreeThatUnfoldsWithoutEndIsRefused(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	blob := r.Git("rev-parse", "main:a")
	for name, long := range map[string]int{"long names": 200, "short names": 1} {
		kind, hash := "blob", blob
		for range 8 {
			var entries strings.Builder
			for i := range 20 {
				mode := map[string]string{"blob": "100644", "tree": "040000"}[kind]
				fmt.Fprintf(&entries, "%s %s %s\t%s%02d\n", mode, kind, hash, strings.Repeat("x", long), i)
			}
			cmd := exec.Command("git", "--git-dir", r.Dir, "mktree")
			cmd.Stdin = strings.NewReader(entries.String())
			out, err := cmd.Output()
			must(t, err)
			kind, hash = "tree", strings.TrimSpace(string(out))
		}
		commit := r.Git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit-tree", "-m", "bomb", hash)
		r.Git("update-ref", "refs/heads/main", commit)
		server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
		spec := mainOf(server.URL)
		spec.Limits.Files = 5000 // ten times as many entries are listed: more than 64 MiB of long names
		t.Log(name, refused(t, frugal(t), spec, source.LimitExceeded))
	}
}

func TestASlowServerTakesItsTimeAndNoMore(t *testing.T) {
	server := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"a": "1"}), gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, r *http.Request) bool {
		advertise(w, "")
		slow := time.NewTicker(50 * time.Millisecond)
		defer slow.Stop()
		for send(w, "0") && http.NewResponseController(w).Flush() == nil {
			select {
			case <-slow.C:
			case <-r.Context().Done():
				return true
			}
		}
		return true
	}})
	spec := mainOf(server.URL)
	spec.Timeout = time.Second
	refused(t, newStore(t), spec, source.Timeout)
}

// The kernel's limit holds for memory that grows faster than it is measured.
func TestTheKernelLimitsGit(t *testing.T) {
	const limit = "251658240" // 48 MiB, and what the kernel counts and no process uses
	seen := make(chan struct{}, 1)
	server := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"a": "1"}), gittest.HTTPOptions{Hook: func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		for r.Context().Err() == nil {
			if limited("remote-http", limit) {
				select {
				case seen <- struct{}{}:
				default: // by an earlier request
				}
				return true
			}
		}
		return true
	}})
	_, _ = frugal(t).Fetch(within(t, time.Minute), mainOf(server.URL))
	select {
	case <-seen:
	default:
		t.Error("no process of git's has the limit")
	}
}

// limited reports whether a process of git's with a word in its command line has the kernel's limit on its data.
func limited(word, bytes string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		line, _ := os.ReadFile(file) // it may have ended
		limits, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "limits"))
		for row := range strings.Lines(string(limits)) {
			if fields := strings.Fields(row); strings.Contains(string(line), word) && strings.HasPrefix(row, "Max data size") && fields[3] == bytes {
				return true
			}
		}
	}
	return false
}
