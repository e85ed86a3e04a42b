package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/source/git"
)

// TestUpBringsEverythingAndEndsIt runs `truce up` with a sandbox of its own, twice on one directory.
func TestUpBringsEverythingAndEndsIt(t *testing.T) {
	bin, dir := program(t), t.TempDir()
	first := startUp(t, bin, dir)
	if n := first.kubectl(t, "-n", "cart", "get", "deployment", "cart", "-o", "jsonpath={.spec.replicas}"); n != "3" {
		t.Errorf("the demo's cart has %s replicas, want 3", n)
	}
	awaitReadyz(t, first.URL)
	if !strings.Contains(first.out.String(), first.Page) {
		t.Errorf("the link to the page is not printed: %s", first.Page)
	}
	opensOnce(t, func() string { return first.Page })
	in := newInbox(t)
	first.apply(t, in.notifies("flux-system", "flux-system"))
	first.kubectl(t, "-n", "flux-system", "wait", "provider/inbox", "--for=condition=Ready", "--timeout=180s")
	first.kubectl(t, "-n", "cart", "scale", "deployment", "cart", "--replicas=5")
	in.await(t, `"reason":"DriftCorrected"`)
	first.takesWebhooks(t)
	uid := first.kubectl(t, "-n", "cart", "get", "deployment", "cart", "-o", "jsonpath={.metadata.uid}")
	first.end(t)
	next := tried(first.out.String())

	second := startUp(t, bin, dir)
	if now := second.kubectl(t, "-n", "cart", "get", "deployment", "cart", "-o", "jsonpath={.metadata.uid}"); now != uid {
		t.Errorf("the second start made another Deployment: %s, want %s", now, uid)
	}
	for _, what := range []string{"the apps", "their custom resources", "change by hand", "change Git"} {
		printed(t, next["first"], next[what])
	}
	second.kubectl(t, "-n", "shop", "wait", "configmap/web", "--for=jsonpath={.data.GREETING}=goodbye", "--timeout=180s")
	second.end(t)
}

// TestUpReadsARepositoryByTheNameThatItsAppsHaveForIt: those of Flux mostly call it flux-system, and what makes that source is not in Git.
func TestUpReadsARepositoryByTheNameThatItsAppsHaveForIt(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "fleet")
	files := fstest.MapFS{
		"clusters/prod/apps.yaml": {Data: []byte(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 10m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
`)},
		"apps/web.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default}\n")},
	}
	if err := git.SeedRepository(t.Context(), repo, files); err != nil {
		t.Fatal(err)
	}
	bin, dir := program(t), t.TempDir()
	u := startUpWith(t, bin, dir, "TRUCE_SANDBOX="+filepath.Join(kubectlDir(), "truce-sandbox"), "--repo", repo, "--path", "clusters/prod")
	u.kubectl(t, "-n", "flux-system", "wait", "kustomization/apps", "--for=condition=Ready", "--timeout=180s")
	u.kubectl(t, "-n", "default", "get", "configmap", "web")
	u.end(t)
	if said := "GitRepository flux-system/flux-system is the repository under another name"; !strings.Contains(u.out.String(), said) {
		t.Errorf("it does not say that %s:\n%s", said, u.out)
	}
}

// takesWebhooks has a Receiver take a webhook: of GitHub, signed, for all sources.
func (u *up) takesWebhooks(t *testing.T) {
	t.Helper()
	u.apply(t, `
apiVersion: v1
kind: Secret
metadata: {name: push, namespace: flux-system}
stringData: {token: s3cret}
---
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: push, namespace: flux-system}
spec:
  type: gitlab
  secretRef: {name: push}
  resources: [{kind: GitRepository, name: "*"}]
`)
	u.kubectl(t, "-n", "flux-system", "wait", "receiver/push", "--for=condition=Ready", "--timeout=180s")
	path := u.kubectl(t, "-n", "flux-system", "get", "receiver/push", "-o", "jsonpath={.status.webhookPath}")
	for token, want := range map[string]string{"guessed": "400", "s3cret": "200 requested: 1"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.Webhooks+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Gitlab-Token", token)
		status, text := answerTo(t, request)
		if got := fmt.Sprint(status, " ", text); !strings.HasPrefix(got, want) {
			t.Errorf("a webhook with the token %s: %s, want %s", token, got, want)
		}
	}
}

// awaitReadyz waits until /readyz answers OK: the apps can be synced before every kind of notifications is listed.
func awaitReadyz(t *testing.T, url string) {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), upWithin)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		status, text := readyz(within, t, url)
		if status == http.StatusOK {
			return
		}
		select {
		case <-look.C:
		case <-within.Done():
			t.Fatalf("/readyz: %d: %s", status, text)
		}
	}
}

// readyz returns what /readyz answers.
func readyz(ctx context.Context, t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	return answerTo(t, request)
}

// answerTo sends a request, and returns the answer's status and text.
func answerTo(t *testing.T, request *http.Request) (int, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return response.StatusCode, string(text)
}

// tried is what truce up prints under "Try next", by its label.
func tried(out string) map[string]string {
	_, block, _ := strings.Cut(out, "Try next")
	all := map[string]string{}
	for line := range strings.Lines(block) {
		if label, command, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			all[label] = strings.TrimSpace(command)
		}
	}
	return all
}

// printed runs a command in a shell that has just been opened somewhere else, after the one that prepares it.
func printed(t *testing.T, first, command string) {
	t.Helper()
	if first == "" || command == "" {
		t.Fatalf("printed: %q, %q", first, command)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", first+"\n"+command)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + os.Getenv("HOME")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

// TestLongTheTourTellsTheSameStoryTwice runs `truce up --tour` twice on one directory. What differs from run to run are times and hashes.
func TestLongTheTourTellsTheSameStoryTwice(t *testing.T) {
	bin, dir := program(t), t.TempDir()
	first, second := tour(t, bin, dir), tour(t, bin, dir)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	for _, want := range []string{`"author_name": "kustomization/`, `"title": "next"`, "shop/web GREETING hello → goodbye  by truce", "shop/web GREETING goodbye → hello  by truce", "cart replicas 5 → 3", "web replicas 5 → 8"} {
		if !slices.ContainsFunc(first, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("no %q in\n%s", want, strings.Join(first, "\n"))
		}
	}
}

// tour returns the commands and changes that a tour prints.
func tour(t *testing.T, bin, dir string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "truce"), "up", "--tour", "--dir", dir)
	cmd.Env = append(os.Environ(), "TRUCE_SANDBOX="+filepath.Join(kubectlDir(), "truce-sandbox"))
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended long ago, unless the test failed
	var story []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "Ctrl-C") {
			break
		}
		if strings.HasPrefix(line, "$ ") {
			story = append(story, line)
		} else if payloadLine.MatchString(line) {
			story = append(story, line)
		} else if change := changes.FindString(line); change != "" {
			story = append(story, change)
		}
	}
	if err := errors.Join(lines.Err(), interrupt(cmd)); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(story, "\n"))
	}
	return story
}

// payloadLine is a line of the message for Slack that says who and what.
var payloadLine = regexp.MustCompile(`^"(author_name|title|color)": `)

var changes = regexp.MustCompile(`\S+ \S+ \S+ → \S+ .*by \w+`)

func TestTwoUpsDoNotShareADirectory(t *testing.T) {
	bin, dir := program(t), t.TempDir()
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "truce"), "up", "--dir", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another `truce up` runs on "+dir) {
		t.Errorf("got %v: %s", err, out)
	}
}

// up is a running `truce up`.
type up struct {
	cmd                            *exec.Cmd
	out                            *bytes.Buffer
	Kubeconfig, Repo, URL, Kubectl string
	Context, Page, Webhooks        string
	Brought                        []string
}

const upWithin = 6 * time.Minute

func startUp(t *testing.T, bin, dir string) *up {
	t.Helper()
	return startUpWith(t, bin, dir, "TRUCE_SANDBOX="+filepath.Join(kubectlDir(), "truce-sandbox"))
}

func startUpWith(t *testing.T, bin, dir, variable string, flags ...string) *up {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	u := &up{cmd: exec.Command(filepath.Join(bin, "truce"), append([]string{"up", "--dir", dir, "--ready-file", ready}, flags...)...), out: &bytes.Buffer{}}
	u.cmd.Env = append(os.Environ(), variable)
	u.cmd.Stdout, u.cmd.Stderr = u.out, u.out
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.cmd.Process.Kill() }) // it has ended long ago, unless the test failed
	deadline := time.After(upWithin)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		text, err := os.ReadFile(ready)
		if err == nil {
			if err := json.Unmarshal(text, u); err != nil {
				t.Fatal(err)
			}
			return u
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("not ready within %s:\n%s", upWithin, u.out)
		}
	}
}

func (u *up) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), u.Kubectl, append([]string{"--kubeconfig", u.Kubeconfig}, args...)...).Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// apply applies manifests.
func (u *up) apply(t *testing.T, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), u.Kubectl, "--kubeconfig", u.Kubeconfig, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

// end does what Ctrl-C does. Truce and its API server must be gone within the five seconds that are promised.
func (u *up) end(t *testing.T) {
	t.Helper()
	if err := interrupt(u.cmd); err != nil {
		t.Fatalf("end: %v\n%s", err, u.out)
	}
	if err := exec.CommandContext(t.Context(), u.Kubectl, "--kubeconfig", u.Kubeconfig, "get", "--raw", "/readyz").Run(); err == nil {
		t.Error("the API server is still there")
	}
}
