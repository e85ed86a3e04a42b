package explain

import (
	"strings"
	"time"
)

// FormatSpan prints a span without the units that are 0 at its end: 30m and 24h, where Duration.String has 30m0s and 24h0m0s.
func FormatSpan(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
