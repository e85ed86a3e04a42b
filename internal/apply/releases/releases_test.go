package releases

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// TestAReleaseThatASecretCannotHoldIsRefused with what to do, before the API server is asked: what it says names no file.
func TestAReleaseThatASecretCannotHoldIsRefused(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	text := make([]byte, 1<<20)
	_, _ = random.Read(text) // of ChaCha8 never fails
	if _, err := encodeRelease(text); err == nil || !strings.Contains(err.Error(), ".helmignore") {
		t.Errorf("1 MiB that cannot be compressed: %v", err)
	}
	if _, err := encodeRelease(text[:700<<10]); err != nil {
		t.Errorf("700 KiB: %v", err)
	}
	if _, err := encodeRelease(make([]byte, 8<<20)); err != nil {
		t.Errorf("8 MiB that can be compressed: %v", err)
	}
}

func TestTheOldestReleasesAreTrimmed(t *testing.T) {
	all := []Stored{{Revision: 5, Status: hook.PendingUpgrade}, {Revision: 4, Status: hook.FailedRelease}, {Revision: 3, Status: hook.FailedRelease}, {Revision: 2, Status: hook.Deployed}, {Revision: 1, Status: hook.Superseded}}
	for _, c := range []struct {
		reason     string
		most, keep int
		want       string
	}{
		{"0 is no bound", 0, 0, "5 4 3 2 1"},
		{"there are not so many", 5, 0, "5 4 3 2 1"},
		{"the oldest goes", 4, 0, "5 4 3 2"},
		{"the deployed one is counted, and stays", 2, 0, "5 2"},
		{"so does the newest", 1, 0, "5 2"},
		{"what is rolled back to stays", 2, 1, "5 2 1"},
	} {
		left, old := trimmed(all, c.most, c.keep)
		got := ""
		for _, s := range left {
			got += fmt.Sprintf(" %d", s.Revision)
		}
		if got = strings.TrimSpace(got); got != c.want || len(left)+len(old) != len(all) {
			t.Errorf("%s: %d of them, and %d to be kept, leave %s, want %s", c.reason, c.most, c.keep, got, c.want)
		}
	}
}
