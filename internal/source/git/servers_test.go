package git_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestAServerOfThisMachineOrItsLinkIsNotAskedUnlessAllowed(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	plain := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	secure := gittest.ServeSSH(t, r)
	port, ssh := portOf(t, plain.URL), source.Auth{Identity: secure.Identity, KnownHosts: secure.KnownHosts}
	s := storeFor(t, t.TempDir()+"/store", egress.Policy{})
	for _, host := range []string{
		"127.0.0.1", "127.8.9.9", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "169.254.169.254", "[fd00:ec2::254]",
		"[fe80::1]", "100.100.100.200", "[64:ff9b::a9fe:a9fe]",
	} {
		for _, spec := range []source.Spec{
			{URL: "http://" + host + ":" + port + "/repo.git"}, {URL: "https://" + host + "/repo.git"},
			{URL: "ssh://git@" + host + ":" + portOf(t, secure.URL) + r.Dir, Auth: ssh},
		} {
			if text := refused(t, s, spec, source.HostNotAllowed); !strings.Contains(text, "--allow-source-hosts") {
				t.Errorf("%s: %s", spec.URL, text)
			}
		}
	}
	refused(t, s, source.Spec{URL: "git@localhost:repo.git", Auth: ssh}, source.HostNotAllowed)
	if n := plain.Requests() + secure.Connections(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	for _, name := range []string{"127.0.0.1", "localhost"} {
		s := storeFor(t, t.TempDir()+"/store", egress.Policy{Allowed: []string{name}})
		fetch(t, s, mainOf("http://"+name+":"+port+"/repo.git"))
	}
}

// C libraries read these as IPv4 addresses.
func TestAHostThatIsANumberIsMalformed(t *testing.T) {
	s := newStore(t)
	for _, host := range []string{"127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1.1", "1.0x", "017700000001"} {
		refused(t, s, mainOf("http://"+host+"/repo.git"), source.URLInvalid)
		refused(t, s, mainOf("git@"+host+":repo.git"), source.URLInvalid)
	}
}

func TestARedirectLeadsToNoOtherServer(t *testing.T) {
	var asked int
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer inner.Close()
	for _, target := range []string{"http://169.254.169.254/latest/meta-data", inner.URL + "/repo.git/info/refs?service=git-upload-pack", "file:///etc/passwd", "gopher://127.0.0.1/", "//localhost/x"} {
		r := gittest.New(t, map[string]string{"a": "1"})
		server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, target, http.StatusFound)
			return true
		}})
		t.Log(refused(t, newStore(t), mainOf(server.URL), source.GitOperationFailed))
	}
	if asked != 0 {
		t.Error("a redirect was followed to another server")
	}
}

func TestSSHReachesTheJudgedAddressesAlone(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeSSH(t, r)
	port := portOf(t, server.URL)
	spec := mainOf("ssh://git@git.invalid:" + port + r.Dir)
	spec.Auth = source.Auth{Identity: server.Identity, KnownHosts: strings.ReplaceAll(server.KnownHosts, "127.0.0.1", "git.invalid")}
	refused(t, newStore(t), spec, source.GitOperationFailed)
	spec.Addresses = "127.0.0.1"
	fetch(t, newStore(t), spec)
	spec.Addresses = "127.0.0.255,127.0.0.1"
	fetch(t, newStore(t), spec)
	spec.URL, spec.Addresses = server.URL, "127.0.0.255"
	refused(t, newStore(t), spec, source.GitOperationFailed)
}

// A proxy finds the server itself. Variables are read once in a process, so that this one has another do the work.
func TestAProxyOfTheEnvironmentIsUsed(t *testing.T) {
	const behind = "TRUCE_TEST_BEHIND_PROXY"
	if at := os.Getenv(behind); at != "" {
		s := storeFor(t, t.TempDir()+"/store", egress.Policy{})
		fetch(t, s, mainOf("http://git.invalid"+at))
		refused(t, s, mainOf("http://169.254.169.254"+at), source.HostNotAllowed)
		refused(t, s, mainOf("http://direct.invalid"+at), source.GitOperationFailed)
		return
	}
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	u, err := url.Parse(server.URL)
	must(t, err)
	for _, variable := range []string{"http_proxy", "HTTP_PROXY"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAProxyOfTheEnvironmentIsUsed$")
		cmd.Env = append(os.Environ(), behind+"="+u.Path, variable+"=http://"+u.Host, "NO_PROXY=direct.invalid")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", variable, err, out)
		}
	}
	if server.Requests() == 0 {
		t.Error("the proxy was not asked")
	}
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return u.Port()
}
