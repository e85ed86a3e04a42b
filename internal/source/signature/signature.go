// Package signature answers: did a trusted key sign this commit or tag?
//
// In: public keys of PGP and SSH; the bytes of a commit or tag object; the time.
// Out: the key that signed it, or why none of the trusted ones did.
// Promise: pure; what is signed is the whole object but for the signature, as git verify-commit and verify-tag read it; a signature for another
// purpose than git's, by a key that is revoked or has expired, or over a hash that is broken, counts as none.
// Not here: which object a reference names, what becomes of one that is not verified (source/git).
package signature

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"
)

// Keys are the public keys that are trusted.
type Keys struct {
	pgp openpgp.EntityList
	ssh []ssh.PublicKey
}

// ErrNoKeys says that there is no key to trust.
var ErrNoKeys = errors.New("no key is in it: want PGP public keys in keys that end in .asc, or SSH public keys in keys that end in .sshpub")

// ParseKeys reads armored PGP public keys, one block after the other, and SSH public keys, one on each line as in an authorized_keys file.
func ParseKeys(pgp, sshLines string) (Keys, error) {
	var k Keys
	for i, block := range armoredBlocks(pgp) {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(block))
		if err != nil {
			return Keys{}, fmt.Errorf("read PGP public key %d: %w", i+1, err)
		}
		k.pgp = append(k.pgp, ring...)
	}
	n := 0
	for line := range strings.Lines(sshLines) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
		switch {
		case err != nil:
			return Keys{}, fmt.Errorf("read line %d of the SSH public keys: want one such as ssh-ed25519 AAAA…", n)
		case len(options) > 0:
			return Keys{}, fmt.Errorf("read line %d of the SSH public keys: it has options of an authorized_keys file, which mean nothing for signatures", n)
		}
		k.ssh = append(k.ssh, key)
	}
	if len(k.pgp)+len(k.ssh) == 0 {
		return Keys{}, ErrNoKeys
	}
	return k, nil
}

const blockBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

// armoredBlocks parts a text before each begin of a block.
func armoredBlocks(text string) []string {
	var out []string
	for i, part := range strings.Split(text, blockBegin) {
		if i > 0 || strings.TrimSpace(part) != "" {
			out = append(out, strings.Repeat(blockBegin, min(i, 1))+part)
		}
	}
	return out
}

// Signed is an object in two parts.
type Signed struct{ Payload, Signature []byte }

// ErrUnsigned says that an object has no signature.
var ErrUnsigned = errors.New("it has no signature")

// Header is the header of a commit that holds its signature.
type Header string

// The headers, by the hash of the repository.
const (
	HeaderSHA1   Header = "gpgsig"
	HeaderSHA256 Header = "gpgsig-sha256"
)

// OfCommit parts a commit object, as git reads it. A signature in the other header is over the object in the other hash, and is left out.
func OfCommit(data []byte, header Header) (Signed, error) {
	var s Signed
	head, body, whole := bytes.Cut(data, []byte("\n\n"))
	var in []byte // the header that the line is of
	count := 0
	for line := range bytes.Lines(head) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		value, more := bytes.CutPrefix(line, []byte(" "))
		if !more {
			in, value, _ = bytes.Cut(line, []byte(" "))
		}
		switch Header(in) {
		case header:
			if !more {
				count++
			}
			s.Signature = append(append(s.Signature, value...), '\n')
		case HeaderSHA1, HeaderSHA256:
		default:
			s.Payload = append(append(s.Payload, line...), '\n')
		}
	}
	if whole {
		s.Payload = append(append(s.Payload, '\n'), body...)
	}
	switch count {
	case 0:
		return Signed{}, ErrUnsigned
	case 1:
		return s, nil
	}
	return Signed{}, fmt.Errorf("it has %d headers %s", count, header)
}

// SplitTag parts a tag object, as git reads it: the signature is the end of its text.
func SplitTag(data []byte) (Signed, error) {
	at, match := 0, -1
	for line := range bytes.Lines(data) {
		if isBegin(line) {
			match = at
		}
		at += len(line)
	}
	if match < 0 {
		return Signed{}, ErrUnsigned
	}
	return Signed{Payload: data[:match], Signature: data[match:]}, nil
}

const (
	pgpBegin  = "-----BEGIN PGP SIGNATURE-----"
	sshBegin  = "-----BEGIN SSH SIGNATURE-----"
	x509Begin = "-----BEGIN SIGNED MESSAGE-----"
)

// isBegin reports whether a signature may begin with the line, in any of git's forms.
func isBegin(line []byte) bool {
	forms := []string{pgpBegin, "-----BEGIN PGP MESSAGE-----", sshBegin, x509Begin}
	return slices.ContainsFunc(forms, func(begin string) bool { return bytes.HasPrefix(line, []byte(begin)) })
}

// Verify returns the key that signed the object.
func (k Keys) Verify(s Signed, now time.Time) (string, error) {
	switch {
	case bytes.HasPrefix(s.Signature, []byte(pgpBegin)):
		return k.verifyPGP(s, now)
	case bytes.HasPrefix(s.Signature, []byte(sshBegin)):
		return k.verifySSH(s)
	}
	return "", errors.New("its signature is in a form that is not supported: want one of PGP or SSH")
}
