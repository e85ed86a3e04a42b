// Package gittest answers, in tests: what does a real git server do with this?
//
// In: files, as a map or in txtar form.
// Out: real repositories, real HTTP and SSH servers on 127.0.0.1, and counts of what they were asked.
// Promise: real git; a commit costs one process; everything ends with the test.
// Not here: anything that the program itself uses.
package gittest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Repo is a bare repository in a directory of the test. Its methods end the test on error and may be called from many
// goroutines. Commits have fixed authors and times, so that equal histories have equal hashes.
type Repo struct {
	Dir string // the git directory
	URL string // its file:// URL

	t       testing.TB
	mu      sync.Mutex
	commits int
}

// Main is the branch that New and Commit write.
const Main = "main"

// New makes a repository with one commit on the branch main; with no files, an empty repository.
func New(t testing.TB, files map[string]string) *Repo {
	t.Helper()
	r := &Repo{t: t, Dir: filepath.Join(t.TempDir(), "repo.git")}
	r.URL = "file://" + r.Dir
	for _, dir := range []string{"objects", "refs/heads", "refs/tags"} {
		r.must(os.MkdirAll(filepath.Join(r.Dir, dir), 0o755))
	}
	r.must(os.WriteFile(filepath.Join(r.Dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	r.must(os.WriteFile(filepath.Join(r.Dir, "config"), []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"), 0o644))
	if len(files) > 0 {
		r.Commit(files, "first")
	}
	return r
}

// NewTxtar is New with the files of a txtar archive.
func NewTxtar(t testing.TB, archive string) *Repo {
	t.Helper()
	return New(t, Files(archive))
}

// Files unpacks a txtar archive.
func Files(archive string) map[string]string {
	files := map[string]string{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

// Commit writes files over those of main, and returns the commit's hash. An executable has a path that ends in "*".
func (r *Repo) Commit(files map[string]string, message string) string {
	r.t.Helper()
	return r.CommitTo(Main, files, message)
}

// CommitTo is Commit on a branch, which is made, without history, where it does not exist.
func (r *Repo) CommitTo(branch string, files map[string]string, message string) string {
	r.t.Helper()
	return r.change(branch, message, writes(files))
}

// Commits writes that many commits over main, in one process, each of which changes the file "count", and returns the hash of the last one.
func (r *Repo) Commits(count int) string {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	ref := "refs/heads/" + Main
	var in strings.Builder
	parent := r.parent(ref)
	for n := range count {
		in.WriteString(r.nextCommit(ref, parent, fmt.Sprint("count ", n), writes(map[string]string{"count": fmt.Sprint(n)})))
		parent = "" // git goes on from the commit before
	}
	return r.runImport(in.String())
}

// Remove removes files or directories from main.
func (r *Repo) Remove(paths ...string) string {
	r.t.Helper()
	var b strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&b, "D %s\n", quote(path))
	}
	return r.change(Main, "remove", b.String())
}

// Move renames a file or directory on main, in one commit.
func (r *Repo) Move(from, to string) string {
	r.t.Helper()
	return r.change(Main, "move "+from, fmt.Sprintf("R %s %s\n", quote(from), quote(to)))
}

// Symlink commits a symbolic link on main, with any target.
func (r *Repo) Symlink(path, target string) string {
	r.t.Helper()
	return r.change(Main, "link "+path, fmt.Sprintf("M 120000 inline %s\n%s", quote(path), data(target)))
}

// Submodule commits a submodule entry on main that stands at a commit.
func (r *Repo) Submodule(path, commit string) string {
	r.t.Helper()
	return r.change(Main, "submodule "+path, fmt.Sprintf("M 160000 %s %s\n", commit, quote(path)))
}

// ForcePush replaces main by a commit without history that has just these files.
func (r *Repo) ForcePush(files map[string]string, message string) string {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.importCommit("refs/heads/"+Main, "", message, writes(files))
}

// Branch points a branch at a commit, "" being main's.
func (r *Repo) Branch(name, commit string) {
	r.t.Helper()
	r.Git("update-ref", "refs/heads/"+name, cmp.Or(commit, Main))
}

// Ref points any reference, by its full name, at a commit, "" being main's.
func (r *Repo) Ref(name, commit string) {
	r.t.Helper()
	r.Git("update-ref", name, cmp.Or(commit, Main))
}

// DeleteBranch removes a branch.
func (r *Repo) DeleteBranch(name string) {
	r.t.Helper()
	r.Git("update-ref", "-d", "refs/heads/"+name)
}

// Tag makes a lightweight tag at a commit, "" being main's; an existing tag is moved.
func (r *Repo) Tag(name, commit string) {
	r.t.Helper()
	r.Git("tag", "-f", name, cmp.Or(commit, Main))
}

// AnnotatedTag makes a tag object at a commit, "" being main's; an existing tag is moved.
func (r *Repo) AnnotatedTag(name, commit string) {
	r.t.Helper()
	r.Git("-c", "user.name=Gittest", "-c", "user.email=gittest@example.com", "tag", "-f", "-a", "-m", "tag "+name, name, cmp.Or(commit, Main))
}

// Head is the hash of main's commit.
func (r *Repo) Head() string {
	r.t.Helper()
	return r.Git("rev-parse", Main)
}

// Git runs git in the repository and returns its output, trimmed.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return r.run("", args...)
}

func (r *Repo) change(branch, message, changes string) string {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	ref := "refs/heads/" + branch
	return r.importCommit(ref, r.parent(ref), message, changes)
}

// importCommit writes one commit with git fast-import: one process, whatever the number of files.
func (r *Repo) importCommit(ref, parent, message, changes string) string {
	r.t.Helper()
	return r.runImport(r.nextCommit(ref, parent, message, changes))
}

// nextCommit is a commit as git fast-import reads it.
func (r *Repo) nextCommit(ref, parent, message, changes string) string {
	r.commits++
	var in strings.Builder
	fmt.Fprintf(&in, "commit %s\nmark :1\ncommitter Gittest <gittest@example.com> %d +0000\n%s", ref, 1_700_000_000+60*r.commits, data(message))
	if parent != "" {
		fmt.Fprintf(&in, "from %s^0\n", parent)
	}
	in.WriteString(changes + "\n")
	return in.String()
}

// runImport writes the commits, and returns the hash of the last one.
func (r *Repo) runImport(commits string) string {
	r.t.Helper()
	return r.run(commits+"get-mark :1\n", "fast-import", "--quiet", "--force", "--cat-blob-fd=1")
}

// parent is ref where it exists, else "".
func (r *Repo) parent(ref string) string {
	if _, err := os.Stat(filepath.Join(r.Dir, ref)); err == nil {
		return ref
	}
	packed, err := os.ReadFile(filepath.Join(r.Dir, "packed-refs"))
	if err == nil && strings.Contains(string(packed), " "+ref+"\n") {
		return ref
	}
	return ""
}

func (r *Repo) run(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_DIR="+r.Dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (r *Repo) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func writes(files map[string]string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		mode, name := "100644", path
		if strings.HasSuffix(path, "*") {
			mode, name = "100755", strings.TrimSuffix(path, "*")
		}
		fmt.Fprintf(&b, "M %s inline %s\n%s", mode, quote(name), data(files[path]))
	}
	return b.String()
}

func data(s string) string { return fmt.Sprintf("data %d\n%s\n", len(s), s) }

// quote is git's C-style quoting of paths.
func quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}
