package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

// runner starts git, with an environment of its own making: nothing of ours is inherited but PATH and where certificates are.
type runner struct {
	program string
	home    string // empty and private: no configuration of a user
	ssh     string // GIT_SSH, which git runs without a shell
	meter   *meter
}

func newRunner(o Options) (runner, error) {
	program, err := Program()
	if err != nil {
		return runner{}, err
	}
	if !filepath.IsAbs(o.Dir) {
		return runner{}, fmt.Errorf("the directory %q is not absolute", o.Dir)
	}
	home := filepath.Join(o.Dir, "home")
	if err := errors.Join(makePrivate(o.Dir), makePrivate(home)); err != nil {
		return runner{}, err
	}
	return runner{program: program, home: home, ssh: o.Executable, meter: newMeter(o.Memory)}, nil
}

// setting is one line of git configuration. It travels in the environment, which no other user can read.
type setting struct{ key, value string }

// hardened holds for every git process.
var hardened = []setting{
	{"safe.directory", "*"}, // a Spec may name any directory
	{"core.hooksPath", "/dev/null"},
	{"core.symlinks", "false"},
	{"core.fsmonitor", "false"},
	{"core.askPass", ""},
	{"credential.helper", ""}, // an empty value clears the list
	{"protocol.version", "2"},
	{"protocol.allow", "never"},
	{"protocol.http.allow", "always"},
	{"protocol.https.allow", "always"},
	{"protocol.ssh.allow", "always"},
	{"transfer.fsckObjects", "true"},
	{"transfer.bundleURI", "false"},
	{"fetch.unpackLimit", "1"}, // always packs: few files, checked whole
	{"fetch.recurseSubmodules", "false"},
	{"submodule.recurse", "false"},
	{"gc.auto", "0"}, // the clone is packed when we say so
	{"maintenance.auto", "false"},
	// What git keeps in memory, of objects and of packs.
	{"core.bigFileThreshold", "16m"}, // larger files are streamed
	{"core.packedGitWindowSize", "32m"},
	{"core.packedGitLimit", "256m"},
	{"core.deltaBaseCacheLimit", "32m"},
	{"pack.threads", "1"},
	{"pack.windowMemory", "32m"},
	{"pack.deltaCacheSize", "16m"},
	{"http.followRedirects", "false"}, // no credential reaches another origin
	{"http.proactiveAuth", ""},
	{"http.emptyAuth", "false"},
}

// network is what only a process that talks to a server gets.
type network struct {
	protocols string // GIT_ALLOW_PROTOCOL
	settings  []setting
	env       []string
}

// offline lets no process talk to anybody: reading a partial clone must not fetch.
var offline = network{protocols: "none"}

// environment is the whole environment of a git process.
func (r runner) environment(n network) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "XDG_CONFIG_HOME=" + r.home, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_PROTOCOL_FROM_USER=0",
		"GIT_SSH_VARIANT=ssh", "GIT_SSH=" + r.ssh, "GIT_ALLOW_PROTOCOL=" + n.protocols,
	}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	settings := append(append([]setting(nil), hardened...), n.settings...)
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return append(env, n.env...)
}

// command prepares git for one repository, in a process group that ends with ctx.
func (r runner) command(ctx context.Context, dir string, n network, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir = r.home
	cmd.Env = append(r.environment(n), "GIT_DIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// output runs git and returns what it printed.
func (r runner) output(ctx context.Context, dir string, n network, args ...string) ([]byte, error) {
	return r.outputFor(ctx, dir, n, nil, args...)
}

// outputFor is output of what git makes of an input.
func (r runner) outputFor(ctx context.Context, dir string, n network, input io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := r.command(ctx, dir, n, args...)
	stdout := capped{most: mostOutput}
	if n.protocols != offline.protocols {
		stdout.most = mostReferences
	}
	var stderr tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &stdout, &stderr
	err := r.run(ctx, cmd, cancel)
	switch {
	case stdout.refused != nil:
		return nil, stdout.refused
	case err != nil:
		return nil, r.explain(ctx, args[0], err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// start starts a command within the limits on memory; wait waits for its end.
func (r runner) start(ctx context.Context, cmd *exec.Cmd, cancel context.CancelCauseFunc) (wait func() error, err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	measured, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.meter.watch(measured, cmd, cancel) })
	return func() error {
		err := cmd.Wait()
		end()
		watch.Wait()
		return err
	}, nil
}

// run is start, and the end.
func (r runner) run(ctx context.Context, cmd *exec.Cmd, cancel context.CancelCauseFunc) error {
	wait, err := r.start(ctx, cmd, cancel)
	if err != nil {
		return err
	}
	return wait()
}

// The sizes of what git prints, in bytes: of a repository that is here, and of the references of a server, of which 16 MiB are some 200 000.
const (
	mostOutput     = 64 << 20
	mostReferences = 16 << 20
)

// capped refuses more than a number of bytes.
type capped struct {
	bytes.Buffer
	most    int
	refused error
}

func (c *capped) Write(p []byte) (int, error) {
	if c.Len()+len(p) > c.most {
		c.refused = sourceError(source.LimitExceeded, "git printed more than %d bytes", c.most)
		return 0, c.refused
	}
	return c.Buffer.Write(p)
}

// tail keeps the last 4 KiB written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - 4096; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }
