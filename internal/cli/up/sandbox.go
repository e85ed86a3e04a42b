package up

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// sandboxStop is how long the sandbox may take to end. It promises five seconds, which may pass late on a machine that has no time.
const sandboxStop = 10 * time.Second

// sandbox is a running truce-sandbox.
type sandbox struct {
	kubeconfig string
	cmd        *exec.Cmd
	log        string
	ended      chan struct{} // closed when the process has ended
	err        error         // of its end
}

// sandboxProgram finds truce-sandbox: by TRUCE_SANDBOX, beside truce, or on PATH.
func sandboxProgram() (string, error) {
	if named := os.Getenv("TRUCE_SANDBOX"); named != "" {
		return named, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "truce-sandbox")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath("truce-sandbox")
	if err != nil {
		return "", fmt.Errorf("no truce-sandbox beside truce, on PATH or in TRUCE_SANDBOX: run `make build`, or name a cluster with --kubeconfig or --context (%w)", err)
	}
	return found, nil
}

// startSandbox returns when the API server is ready. Its log goes to dir.log.
func startSandbox(ctx context.Context, dir string) (*sandbox, error) {
	program, err := sandboxProgram()
	if err != nil {
		return nil, err
	}
	s := &sandbox{log: dir + ".log", ended: make(chan struct{})}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	defer log.Close()
	s.cmd = exec.Command(program, "--dir", dir, "--exit-with-parent", "--hpa-sync-period", "2s")
	s.cmd.Stderr = log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for truce, which ends it last
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	ready := make(chan string, 1)
	go s.attend(out, ready)
	select {
	case s.kubeconfig = <-ready:
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("start the sandbox: it ended: %w\n%s", s.err, logTail(s.log))
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.Close())
	}
}

// attend reads what the sandbox prints until it ends.
func (s *sandbox) attend(out io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if path, ok := readyLine(lines.Text()); ok {
			ready <- path
			break
		}
	}
	_, copyErr := io.Copy(io.Discard, out)
	s.err = errors.Join(s.cmd.Wait(), copyErr, lines.Err())
	close(s.ended)
}

// readyLine reads `ready kubeconfig=… server=… took=…`.
func readyLine(line string) (kubeconfig string, ok bool) {
	rest, ok := strings.CutPrefix(line, "ready kubeconfig=")
	if !ok {
		return "", false
	}
	if at := strings.LastIndex(rest, " server="); at >= 0 {
		rest = rest[:at]
	}
	return rest, true
}

// Close ends the sandbox, by force if it does not end by itself.
func (s *sandbox) Close() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the sandbox: %w", err)
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(sandboxStop):
	}
	err := s.cmd.Process.Kill()
	<-s.ended
	return errors.Join(fmt.Errorf("stop the sandbox: still there after %s; killed", sandboxStop), err)
}

// logTail returns the end of a log, for an error.
func logTail(path string) string {
	const most = 2048
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}
