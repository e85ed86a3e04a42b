package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The tests run the binaries that build.sh makes, as users do: those of `make
// build`, which need not be linked again. Most share one cluster, each in a
// namespace of its own.
var (
	binaries string
	shared   *process
	auditLog string
)

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		return fatal(err)
	}
	defer os.RemoveAll(dir)
	auditLog = filepath.Join(dir, "audit.log")
	if binaries, err = filepath.Abs("../bin"); err != nil {
		return fatal(err)
	}
	if out, err := exec.Command("./build.sh", binaries).CombinedOutput(); err != nil {
		return fatal(fmt.Errorf("build.sh: %w\n%s", err, out))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shared, err = launch(ctx, "--dir", filepath.Join(dir, "shared"), "--fsync=false", "--exit-with-parent",
		"--hpa-sync-period=1s", "--hpa-downscale-stabilization=2s", "--audit-log", auditLog)
	if err != nil {
		return fatal(err)
	}
	defer shared.kill()
	return m.Run()
}

func fatal(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// process is a running truce-sandbox that has printed its line.
type process struct {
	cmd        *exec.Cmd
	kubeconfig string
	server     string
	stderr     bytes.Buffer
	exited     chan error
}

var readyLine = regexp.MustCompile(`^ready kubeconfig=(/.+) server=(https://127\.0\.0\.1:\d+) took=[0-9.]+m?s\n$`)

// launch returns when the cluster is ready, or with what the process said on
// standard error when it ended without.
func launch(ctx context.Context, flags ...string) (*process, error) {
	p := &process{cmd: exec.Command(filepath.Join(binaries, "truce-sandbox"), flags...), exited: make(chan error, 1)}
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- text
		p.exited <- p.cmd.Wait()
	}()
	select {
	case text := <-line:
		return p, p.read(text)
	case <-ctx.Done():
		p.kill()
		return nil, fmt.Errorf("no line: %w", ctx.Err())
	}
}

func (p *process) read(line string) error {
	if line == "" {
		if err := <-p.exited; err == nil {
			return errors.New("it ended without a word")
		}
		return &ended{code: p.cmd.ProcessState.ExitCode(), stderr: p.stderr.String()}
	}
	found := readyLine.FindStringSubmatch(line)
	if found == nil {
		p.kill()
		return fmt.Errorf("the line does not have its form: %q", line)
	}
	p.kubeconfig, p.server = found[1], found[2]
	return nil
}

// ended is a sandbox that did not come up.
type ended struct {
	code   int
	stderr string
}

func (e *ended) Error() string { return fmt.Sprintf("exit code %d: %s", e.code, e.stderr) }

func (p *process) kill() {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // it may have ended
	}
}

// terminate sends a signal and waits for the end, which has to be in order.
func (p *process) terminate(t *testing.T, sig syscall.Signal) {
	t.Helper()
	began := time.Now()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.exited:
		if err != nil {
			t.Fatalf("ended with %v: %s", err, &p.stderr)
		}
	case <-time.After(45 * time.Second): // far above the 5 s that are promised, far below what an unanswered request lasts
		p.kill()
		t.Fatal("it hangs")
	}
	t.Logf("ended after %s", time.Since(began).Round(time.Millisecond))
}

func (p *process) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// start is launch for a test that expects it to work; the process ends with the test.
func start(t *testing.T, flags ...string) *process {
	t.Helper()
	p, err := launch(limit(t), append(flags, "--fsync=false", "--exit-with-parent")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// refused is launch for a test that expects an error on one line.
func refused(t *testing.T, flags ...string) *ended {
	t.Helper()
	p, err := launch(limit(t), append(flags, "--exit-with-parent")...)
	if err == nil {
		p.kill()
		t.Fatal("it started")
	}
	var e *ended
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if !strings.HasPrefix(e.stderr, "truce-sandbox: ") || strings.Count(e.stderr, "\n") != 1 {
		t.Errorf("not one line: %q", e.stderr)
	}
	return e
}

// limit is far more than any step takes, so that a test that hangs says where.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
