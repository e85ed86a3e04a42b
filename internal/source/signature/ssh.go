package signature

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// The form is that of OpenSSH's PROTOCOL.sshsig.
const (
	sshMagic     = "SSHSIG"
	sshVersion   = 1
	gitNamespace = "git"
)

// sshSignature is the content of the armor.
type sshSignature struct {
	sshFields
	key ssh.PublicKey
	sig ssh.Signature
}

// sshFields are those that are written.
type sshFields struct {
	Magic         [6]byte
	Version       uint32
	PublicKey     []byte
	Namespace     string
	Reserved      string
	HashAlgorithm string
	Signature     []byte
}

// sshMessage is what is signed.
type sshMessage struct {
	Magic         [6]byte
	Namespace     string
	Reserved      string
	HashAlgorithm string
	Hash          []byte
}

var errSSHForm = errors.New("its SSH signature cannot be read")

// parseSSH reads the armor and its content.
func parseSSH(text []byte) (sshSignature, error) {
	var s sshSignature
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "SSH SIGNATURE" || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		return s, errSSHForm
	}
	if err := ssh.Unmarshal(block.Bytes, &s.sshFields); err != nil || string(s.Magic[:]) != sshMagic || s.Version != sshVersion {
		return s, errSSHForm
	}
	var err error
	if s.key, err = ssh.ParsePublicKey(s.PublicKey); err != nil || ssh.Unmarshal(s.Signature, &s.sig) != nil {
		return s, errSSHForm
	}
	return s, nil
}

// weakSSH are the formats of signatures that are over SHA-1, or of keys that OpenSSH has given up.
var weakSSH = []string{ssh.KeyAlgoRSA, "ssh-dss"}

func (k Keys) verifySSH(signed Signed) (string, error) {
	s, err := parseSSH(signed.Signature)
	if err != nil {
		return "", err
	}
	name := "SSH key " + ssh.FingerprintSHA256(s.key)
	same := func(trusted ssh.PublicKey) bool { return bytes.Equal(trusted.Marshal(), s.key.Marshal()) }
	switch {
	case !slices.ContainsFunc(k.ssh, same):
		return "", fmt.Errorf("it was signed with the %s, which is none of the trusted keys", name)
	case s.Namespace != gitNamespace:
		return "", fmt.Errorf("its signature with the %s is for %q, not for git", name, strings.ToValidUTF8(s.Namespace[:min(len(s.Namespace), 40)], "?"))
	case slices.Contains(weakSSH, s.sig.Format):
		return "", fmt.Errorf("its signature with the %s has the form %s, which is broken", name, s.sig.Format)
	}
	message := sshMessage{Namespace: s.Namespace, Reserved: s.Reserved, HashAlgorithm: s.HashAlgorithm}
	copy(message.Magic[:], sshMagic)
	switch s.HashAlgorithm {
	case "sha256":
		h := sha256.Sum256(signed.Payload)
		message.Hash = h[:]
	case "sha512":
		h := sha512.Sum512(signed.Payload)
		message.Hash = h[:]
	default:
		return "", fmt.Errorf("its signature with the %s is over a hash that is neither sha256 nor sha512", name)
	}
	if err := s.key.Verify(ssh.Marshal(message), &s.sig); err != nil {
		return "", fmt.Errorf("its signature with the %s does not hold: %w", name, err)
	}
	return name, nil
}
