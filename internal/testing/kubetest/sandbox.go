package kubetest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	readyWithin = 2 * time.Minute // 2 s on a quiet machine; a loaded one with two cores is slow, not broken
	stopWithin  = 2 * time.Minute // the sandbox promises 5 s
)

// binaries are the paths of the programs that a test runs.
type binaries struct{ sandbox, kubectl string }

// findBinaries looks for the sandbox at named, else in the bin directory of the truce module that holds dir. kubectl
// lies beside it.
func findBinaries(named, dir string) (binaries, error) {
	box := named
	if box == "" {
		root, err := moduleRoot(dir)
		if err != nil {
			return binaries{}, err
		}
		box = filepath.Join(root, "bin", "truce-sandbox")
	}
	bins := binaries{sandbox: box, kubectl: filepath.Join(filepath.Dir(box), "kubectl")}
	for _, path := range []string{bins.sandbox, bins.kubectl} {
		if _, err := os.Stat(path); err != nil {
			return binaries{}, fmt.Errorf("kubetest: no %s: run `make build` (%w)", filepath.Base(path), err)
		}
	}
	return bins, nil
}

// moduleRoot walks up from dir to the go.mod of truce; modules within it (bench, sandbox) are walked past.
func moduleRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		b, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module github.com/truce-gitops/truce\n") {
			return at, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("find the module: %w", err)
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("kubetest: %s lies in no checkout of truce: run `make build` and set TRUCE_SANDBOX", dir)
		}
	}
}

// sandbox is one running process of bin/truce-sandbox.
type sandbox struct {
	kubeconfig, auditLog string

	place *place
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed at the end of the process, when err says how
	err   error
}

// runSandbox starts the program in a place and returns when the API server is ready.
func runSandbox(path string, at *place) (*sandbox, error) {
	log := filepath.Join(at.dir, "sandbox.log")
	stderr, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	defer stderr.Close()
	s := &sandbox{place: at, auditLog: filepath.Join(at.dir, "audit.log"), ended: make(chan struct{})}
	s.cmd = exec.Command(path, "--dir", filepath.Join(at.dir, "data"), "--port", "0", "--fsync=false",
		"--hpa-sync-period", "2s", "--exit-with-parent", "--audit-log", s.auditLog)
	s.cmd.Env = append(os.Environ(), "GOGC=200") // a seventh of what a server does under tests is collecting garbage: 60 MiB for half of that
	s.cmd.Stderr = stderr
	// The sandbox holds the place too: it is free when the last of the two is gone.
	s.cmd.ExtraFiles = []*os.File{at.lock}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	if err := s.awaitReady(stdout); err != nil {
		text := tail(log)
		return nil, errors.Join(fmt.Errorf("start sandbox: %w\n%s", err, text), s.stop())
	}
	return s, nil
}

// awaitReady reads the standard output up to the line `ready kubeconfig=… server=… took=…`, and goes on reading it
// until the process ends.
func (s *sandbox) awaitReady(stdout io.Reader) error {
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if path, ok := readyLine(lines.Text()); ok {
				ready <- path
				break
			}
		}
		_, copyErr := io.Copy(io.Discard, stdout)
		s.err = errors.Join(s.cmd.Wait(), copyErr)
		close(s.ended)
	}()
	select {
	case s.kubeconfig = <-ready:
		return nil
	case <-s.ended:
		return fmt.Errorf("it ended before it was ready: %w", cmp.Or(s.err, errors.New("exit status 0")))
	case <-time.After(readyWithin):
		return fmt.Errorf("not ready within %s", readyWithin)
	}
}

// readyLine returns the kubeconfig's path if the line is the one that the sandbox prints when it is ready.
func readyLine(line string) (kubeconfig string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0] != "ready" {
		return "", false
	}
	for _, f := range fields[1:] {
		if path, ok := strings.CutPrefix(f, "kubeconfig="); ok {
			return path, true
		}
	}
	return "", false
}

// stop ends the process and empties its place.
func (s *sandbox) stop() error { return errors.Join(s.halt(), s.place.leave()) }

// pause calls do while no thread of the process runs.
func (s *sandbox) pause(ctx context.Context, do func() error) error {
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pause sandbox: %w", err)
	}
	err := s.standsStill(ctx)
	if err == nil {
		err = do()
	}
	return errors.Join(err, s.cmd.Process.Signal(syscall.SIGCONT))
}

// standsStill waits until the kernel has stopped every thread.
func (s *sandbox) standsStill(ctx context.Context) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.cmd.Process.Pid))
		if err != nil {
			return err
		}
		if len(threads) > 0 && !slices.ContainsFunc(threads, isMoving) {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("pause sandbox: %w", ctx.Err())
		}
	}
}

// isMoving reports whether a thread, by its file in /proc, is in another state than stopped. One that has ended is not.
func isMoving(stat string) bool {
	text, err := os.ReadFile(stat)
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name
	return !strings.HasPrefix(rest, "T")
}

// halt asks the process to end, and kills it when it does not.
func (s *sandbox) halt() error {
	var errs []error
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		errs = append(errs, fmt.Errorf("stop sandbox: %w", err))
	}
	select {
	case <-s.ended: // after SIGTERM any exit code will do
	case <-time.After(stopWithin):
		errs = append(errs, fmt.Errorf("stop sandbox: still there %s after SIGTERM; killed", stopWithin), s.cmd.Process.Kill())
		<-s.ended
	}
	if err := s.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// tail returns the last two kilobytes of a log, for the text of a failure.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2048):])
}
