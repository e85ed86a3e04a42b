package manager

import (
	"fmt"
	"log/slog"

	"github.com/truce-gitops/truce/internal/model/redact"
)

// LogOptions returns how the controller's log is written, from a level on. Each text, error and other value in it goes through
// redact.MaskText, also what client-go logs: server addresses with credentials, tokens and keys are masked, whatever code wrote the line.
func LogOptions(level slog.Level) *slog.HandlerOptions {
	return &slog.HandlerOptions{Level: level, ReplaceAttr: maskAttribute}
}

func maskAttribute(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(redact.MaskText(v.String()))
	case slog.KindAny:
		if _, level := v.Any().(slog.Level); !level {
			a.Value = slog.StringValue(redact.MaskText(fmt.Sprint(v.Any())))
		}
	default: // numbers, times and truth values
	}
	return a
}
