package signtest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"

	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// TUF is a repository that publishes a trusted_root.json.
type TUF struct {
	*httptest.Server
	// Root is the root.json that its clients trust at first.
	Root []byte
	// Down makes it answer nothing.
	Down atomic.Bool
	// Asked counts requests.
	Asked atomic.Int64

	files map[string][]byte
}

// NewTUF publishes a trusted root until a time.
func NewTUF(t testing.TB, trustedRoot string, until time.Time) *TUF {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	by, err := signature.LoadSigner(key, crypto.Hash(0))
	must(t, err)
	public, err := metadata.KeyFromPublicKey(key.Public())
	must(t, err)

	root := metadata.Root(until)
	for _, role := range []string{"root", "targets", "snapshot", "timestamp"} {
		must(t, root.Signed.AddKey(public, role))
	}
	target, err := metadata.TargetFile().FromBytes("trusted_root.json", []byte(trustedRoot), "sha256")
	must(t, err)
	targets := metadata.Targets(until)
	targets.Signed.Targets["trusted_root.json"] = target

	out := &TUF{files: map[string][]byte{}}
	out.Root = signed(t, root, by)
	out.files["/1.root.json"] = out.Root
	out.files["/1.targets.json"] = signed(t, targets, by)
	out.files["/1.snapshot.json"] = signed(t, metadata.Snapshot(until), by)
	out.files["/timestamp.json"] = signed(t, metadata.Timestamp(until), by)
	out.files["/targets/"+strings.TrimPrefix(ocitest.Digest([]byte(trustedRoot)), "sha256:")+".trusted_root.json"] = []byte(trustedRoot)
	out.Server = httptest.NewServer(out)
	t.Cleanup(out.Close)
	return out
}

// ServeHTTP serves the files.
func (r *TUF) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.Asked.Add(1)
	data, ok := r.files[q.URL.Path]
	switch {
	case r.Down.Load():
		w.WriteHeader(http.StatusBadGateway)
	case !ok:
		http.NotFound(w, q)
	default:
		fmt.Fprintf(w, "%s", data)
	}
}

func signed[T metadata.Roles](t testing.TB, m *metadata.Metadata[T], by signature.Signer) []byte {
	t.Helper()
	_, err := m.Sign(by)
	must(t, err)
	out, err := m.ToBytes(false)
	must(t, err)
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
