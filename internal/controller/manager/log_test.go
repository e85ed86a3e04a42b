package manager_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/truce-gitops/truce/internal/controller/manager"
)

// No line of the log has a credential, whether truce or client-go wrote it, and whether it stands in a text, an error or a value.
func TestTheLogHasNoCredentials(t *testing.T) {
	const canary = "canary-7731"
	address := "https://user:" + canary + "@git.example.com/fleet"
	header := "Authorization: Bearer " + canary
	for form, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, manager.LogOptions(slog.LevelInfo)) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, manager.LogOptions(slog.LevelInfo)) },
	} {
		var out bytes.Buffer
		l := slog.New(handler(&out)).With("from", address)
		l.Info("fetch "+address, "error", fmt.Errorf("fetch: %w", errors.New(header)), "tries", 3)
		l.Debug("below the level")
		l.WithGroup("source").Warn("again", "all", []string{address}, "nested", slog.GroupValue(slog.String("header", header)))
		klog.SetSlogLogger(l)
		klog.Warning(header)
		klog.ErrorS(errors.New(address), "watch")
		klog.Flush()
		klog.ClearLogger()
		got := out.String()
		if strings.Contains(got, canary) || strings.Contains(got, "below") {
			t.Errorf("%s: %s", form, got)
		}
		for _, want := range []string{"git.example.com/fleet", "tries", "INFO", "WARN", "ERROR"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", form, want, got)
			}
		}
		if n := strings.Count(got, "\n"); n != 4 {
			t.Errorf("%s: %d lines:\n%s", form, n, got)
		}
	}
}
