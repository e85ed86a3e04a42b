package git

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Git trusts one file: it has the CA of the source and the roots of the machine. A bundle that is none stays one.
func TestTheCAOfASourceIsBesideTheRootsOfTheMachine(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, []byte("# the machine's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	trimmed := strings.TrimSuffix(own, "\n") // as a Secret may hold it: the next certificate begins in a line of its own
	for bundle, want := range map[string]string{"": "", "none": "none", own: own + "\n# the machine's\n", trimmed: trimmed + "\n# the machine's\n"} {
		if got := besideRoots(bundle); got != want {
			t.Errorf("%q: %q", bundle, got)
		}
	}
	t.Setenv("SSL_CERT_FILE", file+".not")
	if got := besideRoots(own); got != own {
		t.Errorf("without roots: %q", got)
	}
}
