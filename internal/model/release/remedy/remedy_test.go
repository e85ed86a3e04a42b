package remedy

import "testing"

// TestAttemptsAreOfWhatIsAskedFor: a "v" that truce once left at the front of a version with metadata makes no other one, so that a release whose retries are
// used up is not tried again for it.
func TestAttemptsAreOfWhatIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		was, asked string
		all        int64
	}{
		"the same":                {"1.2.3+0123456789ab", "1.2.3+0123456789ab", 3},
		"with a v":                {"v1.2.3+0123456789ab", "1.2.3+0123456789ab", 3},
		"another revision":        {"v1.2.3+0123456789ab", "1.2.3+ba9876543210", 0},
		"another version":         {"v1.2.3+0123456789ab", "1.2.4+0123456789ab", 0},
		"a v, and no metadata":    {"v1.2.3", "1.2.3", 0},
		"metadata of its chart's": {"v1.2.3+b7", "v1.2.3+b7", 3},
	} {
		got := Attempts{All: 3, Generation: 1, Version: c.was, Config: "c"}.For(1, c.asked, "c")
		if got.All != c.all || got.Version != c.asked {
			t.Errorf("%s: %d attempts of %s, want %d of %s", name, got.All, got.Version, c.all, c.asked)
		}
	}
}
