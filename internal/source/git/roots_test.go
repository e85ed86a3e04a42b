package git

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
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

// Insecure is about the server of a source: a proxy, which gets a password, is verified.
func TestAProxyIsVerifiedWhereItsServerIsNot(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	proxy := httptest.NewUnstartedServer(http.NotFoundHandler())
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0)
	proxy.StartTLS()
	defer proxy.Close()
	to, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []route{{}, {proxy: to}} {
		client, err := plainClient(source.Auth{Insecure: true}, way, server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(server.URL)
		if err == nil {
			err = answer.Body.Close()
		}
		var unknown x509.UnknownAuthorityError
		if (err != nil) != (way.proxy != nil) || err != nil && !errors.As(err, &unknown) {
			t.Errorf("by the proxy %v: %v", way.proxy, err)
		}
	}
}
