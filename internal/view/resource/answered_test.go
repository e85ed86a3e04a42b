package resource_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/view/resource"
)

// TestARequestIsAnsweredByTheOneThatTookItsPlace, whatever the clock or the form of that one: each of several requests overwrites the one before.
func TestARequestIsAnsweredByTheOneThatTookItsPlace(t *testing.T) {
	const ours = "2026-11-20T20:29:59.5Z"
	for name, c := range map[string]struct {
		handled, before string
		want            bool
	}{
		"nothing was ever handled":    {"", "", false},
		"only the one before":         {"2026-11-20T20:00:00Z", "2026-11-20T20:00:00Z", false},
		"ours":                        {ours, "", true},
		"a newer one":                 {"2026-11-20T20:30:00Z", "2026-11-20T20:00:00Z", true},
		"one by a clock that is late": {"2026-11-20T20:29:00Z", "", true},
		"one of another form":         {"1795206600", "2026-11-20T20:00:00Z", true},
		"the status is gone":          {"", "2026-11-20T20:00:00Z", false},
	} {
		if got := resource.IsAnswered(ours, c.handled, c.before); got != c.want {
			t.Errorf("%s: answered %v, want %v", name, got, c.want)
		}
	}
}
