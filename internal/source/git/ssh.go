package git

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// The variable and files by which a fetch hands its SSH secrets to SSHMain.
const (
	sshDirVariable = "TRUCE_SSH_DIR"
	// The IP addresses at which alone the host, or the proxy, is reached, with commas between, or egress.AnyAddress.
	sshAddressesVariable = "TRUCE_SSH_ADDRESSES"
	// "true" where the host may show any key.
	sshInsecureVariable = "TRUCE_SSH_INSECURE"

	identityFile   = "identity"
	passwordFile   = "password"
	knownHostsFile = "known_hosts"

	// What SSHMain prints first, by which the fetch knows the reason.
	sshAuthentication = "truce: ssh authentication: "
	sshHostKey        = "truce: ssh host key: "
	sshRefused        = "ssh: handshake failed: ssh: unable to authenticate" // golang.org/x/crypto/ssh
)

// handshakeTime bounds the time to connect and to agree on keys.
const handshakeTime = 30 * time.Second

// IsSSHHelper reports whether git has started this process in place of ssh: its arguments are ssh's, and for SSHMain.
func IsSSHHelper() bool { return os.Getenv(sshDirVariable) != "" }

// SSHMain is what git runs in place of ssh, with ssh's arguments. It trusts the host keys that
// the fetch gave, and no other; it runs git-upload-pack and nothing else. It returns the exit status; 255 as ssh does
// for errors of its own.
func SSHMain(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	status, err := runSSHCommand(ctx, args, streams{stdin, stdout, stderr})
	if err == nil {
		return status
	}
	var known *hostKeyError
	switch {
	case errors.As(err, &known):
		fmt.Fprintf(stderr, "%s%v\n", sshHostKey, known)
	case errors.Is(err, errIdentity), strings.Contains(err.Error(), "unable to authenticate"):
		fmt.Fprintf(stderr, "%s%v\n", sshAuthentication, err)
	default:
		fmt.Fprintf(stderr, "truce: ssh: %v\n", err)
	}
	return 255
}

// sshCall is what git asks of ssh.
type sshCall struct {
	user, host, port string
	command          string
	sendProtocol     bool
}

// parseSSHArgs reads the arguments that git gives to the variant "ssh": [-o SendEnv=GIT_PROTOCOL] [-4|-6] [-p port] [user@]host command.
func parseSSHArgs(args []string) (sshCall, error) {
	call := sshCall{user: "git", port: "22"}
	args, err := call.flags(args)
	if err != nil {
		return call, err
	}
	if len(args) != 2 {
		return call, errors.New("want a host and a command")
	}
	call.host, call.command = args[0], args[1]
	if user, host, ok := cutLast(call.host, "@"); ok {
		call.user, call.host = user, host
	}
	call.host = strings.Trim(call.host, "[]")
	if !strings.HasPrefix(call.command, "git-upload-pack '") {
		return call, fmt.Errorf("the command %q is not git-upload-pack", call.command)
	}
	return call, nil
}

// flags takes the flags off args, and returns what follows them.
func (c *sshCall) flags(args []string) ([]string, error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := args[0]
		args = args[1:]
		if flag == "-4" || flag == "-6" || flag == "--" {
			continue
		}
		if len(args) == 0 || flag != "-o" && flag != "-p" {
			return nil, fmt.Errorf("unexpected argument %q", flag)
		}
		if flag == "-p" {
			c.port = args[0]
		}
		c.sendProtocol = c.sendProtocol || flag == "-o" && args[0] == "SendEnv=GIT_PROTOCOL"
		args = args[1:]
	}
	return args, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// streams are what git reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func runSSHCommand(ctx context.Context, args []string, with streams) (int, error) {
	call, err := parseSSHArgs(args)
	if err != nil {
		return 0, err
	}
	client, err := call.dial(ctx)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return 0, err
	}
	defer session.Close()
	if v := os.Getenv("GIT_PROTOCOL"); v != "" && call.sendProtocol {
		_ = session.Setenv("GIT_PROTOCOL", v) // servers may refuse it: then git speaks protocol 0
	}
	return runSession(session, call.command, with)
}

// runSession does not wait for stdin: git keeps it open until the server has ended.
func runSession(session *ssh.Session, command string, with streams) (int, error) {
	session.Stdout, session.Stderr = with.out, &labelled{to: with.err}
	in, err := session.StdinPipe()
	if err != nil {
		return 0, err
	}
	if err := session.Start(command); err != nil {
		return 0, err
	}
	go func() {
		_, _ = io.Copy(in, with.in) // a broken connection is reported by Wait
		_ = in.Close()
	}()
	err = session.Wait()
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return exit.ExitStatus(), nil
	}
	return 0, err
}

// labelled writes "remote: " before each line, so that what a server prints is not taken for git's or truce's own.
type labelled struct {
	to     io.Writer
	inLine bool
}

func (l *labelled) Write(p []byte) (int, error) {
	var out []byte
	for _, b := range p {
		if !l.inLine {
			out = append(out, "remote: "...)
		}
		l.inLine = b != '\n'
		out = append(out, b)
	}
	if _, err := l.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c sshCall) dial(ctx context.Context) (*ssh.Client, error) {
	dir := os.Getenv(sshDirVariable)
	if dir == "" {
		return nil, errors.New("to be run by git only")
	}
	signer, err := readIdentity(dir)
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort(c.host, c.port)
	keys := &hostKeys{known: ssh.InsecureIgnoreHostKey()}
	if os.Getenv(sshInsecureVariable) != "true" {
		if keys, err = readKnownHosts(filepath.Join(dir, knownHostsFile), addr); err != nil {
			return nil, err
		}
	}
	config := &ssh.ClientConfig{
		User: c.user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: keys.check, HostKeyAlgorithms: keys.algorithms, Timeout: handshakeTime,
	}
	conn, err := c.connect(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return nil, errors.Join(err, ignoreClosed(conn.Close()))
	}
	inner, channels, requests, err := ssh.NewClientConn(conn, addr, config)
	if keys.refusal != nil {
		err = keys.refusal
	} else if err != nil && strings.Contains(err.Error(), "no common algorithm for host key") {
		err = &hostKeyError{addr + " has no key of a kind that known_hosts has for it"}
	}
	if err != nil {
		return nil, errors.Join(err, ignoreClosed(conn.Close()))
	}
	return ssh.NewClient(inner, channels, requests), conn.SetDeadline(time.Time{})
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

var errIdentity = errors.New("the identity is no private key")

func readIdentity(dir string) (ssh.Signer, error) {
	pem, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err != nil {
		return nil, err
	}
	password, err := os.ReadFile(filepath.Join(dir, passwordFile))
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(pem)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked) && len(password) == 0:
		return nil, fmt.Errorf("%w that can be read: it needs a password", errIdentity)
	case errors.As(err, &locked):
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, password); err != nil {
			return nil, fmt.Errorf("%w that can be read: its password is wrong", errIdentity)
		}
	case err != nil:
		return nil, errIdentity // the parser's words could quote the key
	}
	return signer, nil
}

// hostKeys judges the key of one host.
type hostKeys struct {
	known      ssh.HostKeyCallback
	addr       string
	algorithms []string
	refusal    error // kept here, as the handshake's error does not wrap it
}

// hostKeyError says why a host's key is refused.
type hostKeyError struct{ text string }

func (e *hostKeyError) Error() string { return e.text }

func readKnownHosts(file, addr string) (*hostKeys, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known, err := knownhosts.New(file)
	if err != nil {
		// The file's path is of no use to the reader, and is gone in a moment.
		return nil, &hostKeyError{strings.ReplaceAll(strings.TrimPrefix(err.Error(), "knownhosts: "), file, "known_hosts")}
	}
	keys := &hostKeys{known: known, addr: addr}
	keys.algorithms, err = keys.wanted(bytes.Contains(content, []byte("@cert-authority")))
	return keys, err
}

// wanted lists the algorithms of the keys that are known for the host, so that a server with several keys shows one of those.
// An unknown host may show any, to be refused by name.
func (k *hostKeys) wanted(certificates bool) ([]string, error) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	stranger, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	var mismatch *knownhosts.KeyError
	if !errors.As(k.known(k.addr, &net.TCPAddr{}, stranger), &mismatch) || len(mismatch.Want) == 0 {
		return nil, nil
	}
	var algorithms []string
	if certificates {
		algorithms = append(algorithms, ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01)
	}
	for _, want := range mismatch.Want {
		of := []string{want.Key.Type()}
		if want.Key.Type() == ssh.KeyAlgoRSA {
			of = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		for _, a := range of {
			if !slices.Contains(algorithms, a) {
				algorithms = append(algorithms, a)
			}
		}
	}
	return algorithms, nil
}

func (k *hostKeys) check(host string, remote net.Addr, key ssh.PublicKey) error {
	err := k.known(host, remote, key)
	if err == nil {
		return nil
	}
	shown := fmt.Sprintf("the %s key %s of %s", key.Type(), ssh.FingerprintSHA256(key), knownhosts.Normalize(host))
	var revoked *knownhosts.RevokedError
	var mismatch *knownhosts.KeyError
	switch {
	case errors.As(err, &revoked):
		k.refusal = &hostKeyError{shown + " is revoked in known_hosts"}
	case errors.As(err, &mismatch) && len(mismatch.Want) > 0:
		k.refusal = &hostKeyError{shown + " is not the one in known_hosts: the server has changed, or another server answers in its place"}
	case errors.As(err, &mismatch):
		k.refusal = &hostKeyError{shown + " is not in known_hosts"}
	default:
		k.refusal = &hostKeyError{shown + ": " + err.Error()}
	}
	return k.refusal
}
