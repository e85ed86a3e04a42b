package explain_test

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/report/explain"
)

func TestASpanKeepsItsDigits(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1.5s": 1500 * time.Millisecond, "30s": 30 * time.Second, "10m": 10 * time.Minute, "30m": 30 * time.Minute, "1m30s": 90 * time.Second,
		"1h": time.Hour, "10h": 10 * time.Hour, "1h30m": 90 * time.Minute, "1h0m5s": time.Hour + 5*time.Second, "24h": 24 * time.Hour, "168h": 168 * time.Hour,
	} {
		if got := explain.FormatSpan(d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if back, err := time.ParseDuration(want); err != nil || back != d {
			t.Errorf("%s is read as %s: %v", want, back, err)
		}
	}
}
