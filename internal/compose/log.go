package compose

import (
	"log/slog"

	"k8s.io/klog/v2"
)

// Silence keeps what client-go logs off the terminal: commands report errors themselves.
func Silence() { logClient(slog.New(slog.DiscardHandler)) }

// logClient takes what client-go says into the controller's own log: warnings of the API server, and watches that have to begin again.
func logClient(l *slog.Logger) { klog.SetSlogLogger(l.With("from", "client-go")) }
