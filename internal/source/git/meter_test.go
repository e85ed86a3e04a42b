package git

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
)

func TestTheCommandThatUsesMostEndsWhenAllUseTooMuch(t *testing.T) {
	const mib = 1 << 20
	m := newMeter(100 * mib)
	one, two := &exec.Cmd{}, &exec.Cmd{}
	for _, step := range []struct {
		cmd   *exec.Cmd
		used  int64
		ended bool
	}{
		{one, 60 * mib, false}, {two, 30 * mib, false}, {two, 50 * mib, false}, {one, 61 * mib, true}, {two, 101 * mib, true},
	} {
		if err := m.judge(step.cmd, step.used); (err != nil) != step.ended || err != nil && errorReason(err) != source.LimitExceeded {
			t.Errorf("%d MiB: %v", step.used/mib, err)
		}
	}
	m.forget(one)
	if err := m.judge(two, 99*mib); err != nil {
		t.Error(err)
	}
	if m := newMeter(0); m.each != mostMemory || m.all != mostMemory {
		t.Errorf("%d, %d", m.each, m.all)
	}
	if m := newMeter(8 << 30); m.each != mostMemory || m.all != 8<<30 {
		t.Errorf("%d, %d", m.each, m.all)
	}
}

func TestTheProcessesOfACommandAreMeasured(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo; cat; :")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it runs
		t.Fatal(err)
	}
	if all := processTree(os.Getpid()); !slices.Contains(all, cmd.Process.Pid) {
		t.Errorf("%d is not in %v", cmd.Process.Pid, all)
	}
	if used := anonymous(cmd.Process.Pid); used <= 0 || used > 64<<20 {
		t.Errorf("%d bytes", used)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if used := anonymous(cmd.Process.Pid); used != 0 {
		t.Errorf("%d bytes after the end", used)
	}
}
