package deliver_test

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// serveNATS starts a server on 127.0.0.1 with a user that may publish on gitops.>, and returns its host and port.
func serveNATS(t *testing.T, config *tls.Config) string {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, TLSConfig: config, TLSTimeout: 30, MaxPayload: 64 << 10}
	o.Users = []*server.User{
		{Username: "CANARY-nats-user", Password: mailCanary, Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"gitops.>"}}}},
		{Username: "listener", Password: "listener"},
	}
	return startNATS(t, o)
}

func startNATS(t *testing.T, o *server.Options) string {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	return s.Addr().String()
}

func natsProvider(address string) deliver.Loaded {
	return deliver.Loaded{
		Provider:   route.Provider{Type: "nats", Address: address, Channel: "gitops.events", Secret: "login"},
		SecretData: map[string][]byte{"username": []byte("CANARY-nats-user"), "password": []byte(mailCanary)},
	}
}

// TestAMessageIsPublishedOnASubject: by a login of the Secret, or of the address in it.
func TestAMessageIsPublishedOnASubject(t *testing.T) {
	host := serveNATS(t, nil)
	listener, err := nats.Connect("nats://listener:listener@" + host)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	got, err := listener.SubscribeSync("gitops.events")
	if err != nil || listener.Flush() != nil {
		t.Fatal(err)
	}
	inAddress := natsProvider("")
	inAddress.SecretData = map[string][]byte{"address": []byte("nats://CANARY-nats-user:" + mailCanary + "@" + host)}
	f := newFixture(t, here)
	for name, p := range map[string]deliver.Loaded{"keys": natsProvider("nats://" + host), "address": inAddress} {
		f.send(name, p, "well done")
		if err := f.result(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := got.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var event struct{ Message, Reason, ReportingController string }
		if err := json.Unmarshal(m.Data, &event); err != nil || event.Message != "well done" || event.Reason != "Test" || event.ReportingController != "truce" {
			t.Errorf("%s: %s", name, m.Data)
		}
	}
}

// TestANATSServerThatTakesNothingIsNamed: why, and without a credential.
func TestANATSServerThatTakesNothingIsNamed(t *testing.T) {
	https := httptest.NewTLSServer(nil) // for its certificate
	defer https.Close()
	plain, secured := serveNATS(t, nil), serveNATS(t, &tls.Config{Certificates: https.TLS.Certificates})
	ca := map[string][]byte{"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw})}
	hung, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hung.Close() }()
	for name, c := range map[string]struct {
		address string
		change  func(*deliver.Loaded)
		want    string // empty for success
	}{
		"its ca":        {"tls://" + secured, func(p *deliver.Loaded) { p.Certificates, p.CertificateData = "ca", ca }, ""},
		"another ca":    {"tls://" + secured, nil, "certificate signed by unknown authority"},
		"no tls":        {"tls://" + plain, nil, "secure connection not available"},
		"wrong login":   {"nats://" + plain, func(p *deliver.Loaded) { p.SecretData["password"] = []byte("CANARY-wrong") }, "Authorization Violation"},
		"not permitted": {"nats://" + plain, func(p *deliver.Loaded) { p.Channel = "other.events" }, "Permissions Violation"},
		"hangs":         {"nats://" + hung.Addr().String(), func(p *deliver.Loaded) { p.Timeout = time.Second }, ""},
		"metadata":      {"nats://169.254.169.254:4222", nil, "loopback, link-local or metadata address"},
		"a wildcard":    {"nats://" + plain, func(p *deliver.Loaded) { p.Channel = "gitops.>" }, "without spaces and wildcards"},
		"no server":     {"https://" + plain, nil, "no URL of a NATS server"},
	} {
		t.Run(name, func(t *testing.T) {
			p := natsProvider(c.address)
			if c.change != nil {
				c.change(&p)
			}
			if name == "hangs" {
				checkHung(t, p)
				return
			}
			f := newFixture(t, here)
			f.send("nats", p, "hello")
			err := f.result()
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "CANARY")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// checkHung checks that a server that says nothing is left after the Provider's timeout.
func checkHung(t *testing.T, p deliver.Loaded) {
	t.Helper()
	d := deliver.Deliverer{Servers: here}
	if err := d.SendOnce(t.Context(), p, contentOf("hello")); err == nil {
		t.Error("it was taken")
	}
}

// natsKey is a new nkey, its public part and its seed.
func natsKey(t *testing.T, create func() (nkeys.KeyPair, error)) (pair nkeys.KeyPair, public string, seed []byte) {
	t.Helper()
	pair, err := create()
	if err != nil {
		t.Fatal(err)
	}
	public, err = pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	if seed, err = pair.Seed(); err != nil {
		t.Fatal(err)
	}
	return pair, public, seed
}

// serveNATSByJWT starts a server that lets in the users of one account, and returns its host and port, and the credentials of a user.
func serveNATSByJWT(t *testing.T) (host string, creds []byte) {
	t.Helper()
	operator, operatorKey, _ := natsKey(t, nkeys.CreateOperator)
	account, accountKey, _ := natsKey(t, nkeys.CreateAccount)
	_, userKey, seed := natsKey(t, nkeys.CreateUser)
	trusted := jwt.NewOperatorClaims(operatorKey)
	if _, err := trusted.Encode(operator); err != nil {
		t.Fatal(err)
	}
	signedAccount, err := jwt.NewAccountClaims(accountKey).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	signedUser, err := jwt.NewUserClaims(userKey).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	if creds, err = jwt.FormatUserConfig(signedUser, seed); err != nil {
		t.Fatal(err)
	}
	accounts := &server.MemAccResolver{}
	if err := accounts.Store(accountKey, signedAccount); err != nil {
		t.Fatal(err)
	}
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, TrustedOperators: []*jwt.OperatorClaims{trusted}, AccountResolver: accounts}
	return startNATS(t, o), creds
}

// TestANATSServerLetsInByKeys: user credentials (a JWT and a seed) go first, then an nkey, then a password, as in Flux.
func TestANATSServerLetsInByKeys(t *testing.T) {
	_, public, seed := natsKey(t, nkeys.CreateUser)
	_, _, stranger := natsKey(t, nkeys.CreateUser)
	byKey := startNATS(t, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, Nkeys: []*server.NkeyUser{{Nkey: public}}})
	byJWT, creds := serveNATSByJWT(t)
	for name, c := range map[string]struct {
		at   string
		data map[string]string
		want string // empty for success
	}{
		"nkey":                     {byKey, map[string]string{"nkey": string(seed) + "\n"}, ""},
		"nkey before password":     {byKey, map[string]string{"nkey": string(seed), "username": "u", "password": mailCanary}, ""},
		"another nkey":             {byKey, map[string]string{"nkey": string(stranger)}, "Authorization Violation"},
		"no seed":                  {byKey, map[string]string{"nkey": "CANARY-seed"}, "the key nkey of its Secret is no seed"},
		"credentials":              {byJWT, map[string]string{"creds": string(creds)}, ""},
		"credentials before nkey":  {byJWT, map[string]string{"creds": string(creds), "nkey": string(stranger)}, ""},
		"a seed for credentials":   {byJWT, map[string]string{"creds": string(seed)}, "the key creds of its Secret holds no user credentials"},
		"no credentials":           {byJWT, map[string]string{"creds": "CANARY-creds"}, "the key creds of its Secret holds no user credentials"},
		"a password where keys do": {byJWT, map[string]string{"username": "u", "password": mailCanary}, "Authorization Violation"},
	} {
		t.Run(name, func(t *testing.T) {
			p := natsProvider("nats://" + c.at)
			p.SecretData = map[string][]byte{}
			for key, value := range c.data {
				p.SecretData[key] = []byte(value)
			}
			f := newFixture(t, here)
			f.send("nats", p, "hello")
			err := f.result()
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "CANARY") || strings.Contains(err.Error(), string(seed))) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
