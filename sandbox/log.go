package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// openLog points standard output and standard error of this process to a file:
// upstream's parts write there in several ways, some through loggers that were
// made before main. The trace of a crash goes to the real standard error too.
// The log of the run before is kept as name.old.
func openLog(name string) (*os.File, error) {
	if err := os.Rename(name, name+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("log: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	if err := debug.SetCrashOutput(os.Stderr, debug.CrashOptions{}); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	for _, std := range []*os.File{os.Stdout, os.Stderr} {
		if err := unix.Dup2(int(f.Fd()), int(std.Fd())); err != nil {
			return nil, fmt.Errorf("log: %s: %w", std.Name(), err)
		}
	}
	return f, nil
}
