package compose

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/manager"
)

// TestAControllerWorksWithoutAPlaceToWriteTo: neither its clones nor its journal can be kept below a directory of the kernel's own.
func TestAControllerWorksWithoutAPlaceToWriteTo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var said bytes.Buffer
	o := manager.Options{Settings: controller.Settings{CacheDir: "/sys/truce", Log: slog.New(slog.NewTextHandler(&said, nil))}}
	o.Kubeconfig = kubeconfig(t, "http://127.0.0.1:1")
	p, err := assembleFor(o, "v0", supervision{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.remember(o.CacheDir, o.Log); err != nil || p.engine.Journal != nil {
		t.Errorf("journal %v, %v", p.engine.Journal, err)
	}
	for _, want := range []string{"nothing can be written to the cache directory", "no journal is kept", "cacheDir=/sys/truce"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the log has nothing of %q:\n%s", want, said.String())
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestWhatAFullDiskSays, and what is another error.
func TestWhatAFullDiskSays(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.ENOSPC: true, syscall.EROFS: true, syscall.EDQUOT: true, syscall.EACCES: true, syscall.EPERM: true,
		syscall.ENOTDIR: false, syscall.EIO: false, nil: false,
	} {
		if err != nil {
			err = fmt.Errorf("open git store: %w", &os.PathError{Op: "open", Path: "key", Err: err})
		}
		if got := unwritable(err); got != want {
			t.Errorf("%v: %t, want %t", err, got, want)
		}
	}
}
