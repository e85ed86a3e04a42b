package keyservice_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/keyservice"
	"github.com/truce-gitops/truce/internal/render/sops"
)

// serve answers each call on a socket, as gRPC does, and returns the address.
func serve(t *testing.T, status, message string, answer []byte) (address string, asked *[]byte) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	asked = new([]byte)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Protocols: protocols, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/KeyService/Decrypt" || r.ProtoMajor != 2 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		_, _ = w.Write(answer)
		w.Header().Set("Grpc-Status", status)
		w.Header().Set("Grpc-Message", message)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return "unix://" + socket, asked
}

func frameOf(message string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

func ask(t *testing.T, address string, m keys.Master) ([]byte, error) {
	t.Helper()
	c, err := keyservice.NewClient(address)
	if err != nil {
		t.Fatal(err)
	}
	return c.DecryptKey(t.Context(), m)
}

func TestAKeyServiceIsAskedInItsOwnProtocol(t *testing.T) {
	address, asked := serve(t, "0", "", frameOf("\x0a\x03key"))
	got, err := ask(t, address, keys.Master{Kind: keys.AWS, Fields: map[string]string{"arn": "a", "role": "r", "aws_profile": "p"}, Context: map[string]string{"k": "v"}, Encrypted: "e"})
	if err != nil || string(got) != "key" {
		t.Errorf("%q, %v", got, err)
	}
	want := "\x0a\x13\x0a\x11" + "\x0a\x01a" + "\x12\x01r" + "\x1a\x06\x0a\x01k\x12\x01v" + "\x22\x01p" + "\x12\x01e"
	if string(*asked) != string(frameOf(want)) {
		t.Errorf("asked %q, want %q", *asked, frameOf(want))
	}
}

func TestAnswersThatAreNoKey(t *testing.T) {
	for name, c := range map[string]struct {
		status, message string
		answer          []byte
		want            string
	}{
		"refused":   {"2", "no%20access%0aline", nil, "refused (gRPC status 2): no access"},
		"no gRPC":   {"", "", []byte("hello"), "HTTP 200 without a status of gRPC: this is no key service"},
		"no frame":  {"0", "", []byte("hello"), "the answer is no data key"},
		"cut":       {"0", "", frameOf("\x0a\x09key"), "the answer is no data key"},
		"no field":  {"0", "", frameOf("\x12\x01x"), "the answer is no data key"},
		"very long": {"0", "", make([]byte, 1<<20), "the answer is no data key"},
	} {
		address, _ := serve(t, c.status, c.message, c.answer)
		if got, err := ask(t, address, keys.Master{Kind: keys.Vault}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := ask(t, "unix:///nowhere/socket", keys.Master{}); err == nil || !strings.Contains(err.Error(), "is `sops keyservice` running there?") {
		t.Error(err)
	}
}

func TestAddressesOfKeyServices(t *testing.T) {
	for address, good := range map[string]bool{
		"unix:///run/sops.sock": true, "tcp://127.0.0.1:5000": true, "tcp://sops.sops-system:5000": true, "tcp://sops": false, "https://sops:1": false, "unix://run/sops": false, "/run/sops": false, "tcp://user@sops:1": false, "": false,
	} {
		if _, err := keyservice.NewClient(address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// asVault asks for a key of age in the place of Vault's.
type asVault struct{ *keyservice.Client }

func (s asVault) DecryptKey(ctx context.Context, m keys.Master) ([]byte, error) {
	m.Kind = keys.Age
	return s.Client.DecryptKey(ctx, m)
}

// TestStockSOPSIsAKeyService has the sops that TRUCE_SOPS names decrypt the data key of a file whose key truce does not have.
func TestStockSOPSIsAKeyService(t *testing.T) {
	program := os.Getenv("TRUCE_SOPS")
	if program == "" {
		t.Skip("TRUCE_SOPS names no sops program")
	}
	key, err := filepath.Abs("../sops/testdata/keys/age.agekey")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	cmd := exec.Command(program, "keyservice", "--network", "unix", "--address", socket)
	cmd.Env = []string{"SOPS_AGE_KEY_FILE=" + key, "HOME=" + t.TempDir()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-tick.C {
		if _, err := os.Stat(socket); err == nil {
			break
		}
	}
	client, err := keyservice.NewClient("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../sops/testdata/encrypted/age.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k, err := sops.ReadKeys(keys.Set{Service: true}, asVault{client})
	if err != nil {
		t.Fatal(err)
	}
	// To truce the file is encrypted by Vault; the service gets the key of age that it has.
	text := strings.Replace(string(data), "    age:\n", "    hc_vault:\n", 1)
	f, err := sops.Decrypt(t.Context(), []byte(text), sops.YAML, k)
	if err != nil || !strings.Contains(strings.Join(f.Secrets(), " "), "c4n4ry-stock") {
		t.Error(err)
	}
	if _, err := client.DecryptKey(t.Context(), keys.Master{Kind: keys.GCP, Fields: map[string]string{"resource_id": "x"}, Encrypted: "eA=="}); err == nil || !strings.Contains(err.Error(), "refused (gRPC status") {
		t.Error(err)
	}
}
