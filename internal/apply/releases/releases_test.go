package releases

import (
	"math/rand/v2"
	"strings"
	"testing"
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
