package sandbox

import (
	"errors"
	"fmt"
	"log"
	"os"

	"k8s.io/klog/v2"
)

// openLog sends what the components say to a file. Upstream writes through
// klog, through package log and to os.Stderr as it stands: each is pointed to
// the file. The log of the run before is kept as name.old.
func openLog(name string) (*os.File, error) {
	if err := os.Rename(name, name+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("log: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	os.Stdout, os.Stderr = f, f
	log.SetOutput(f)
	klog.LogToStderr(false)
	klog.SetOutput(f)
	return f, nil
}
