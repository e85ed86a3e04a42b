package gittest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha512"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"
)

// Key is a key of one test that signs commits and tags.
type Key struct {
	Public string // armored, or a line of an authorized_keys file
	Name   string // as messages name it
	// Namespace is what an SSH signature is for; git's at first.
	Namespace string

	t      testing.TB
	entity *openpgp.Entity
	made   time.Time // of the entity
	signer ssh.Signer
}

// NewPGPKey makes a PGP key. It expires after a lifetime, from a creation a day ago; zero is never.
func NewPGPKey(t testing.TB, lifetime time.Duration) *Key {
	t.Helper()
	made := time.Now().Add(-24 * time.Hour)
	config := &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return made }, KeyLifetimeSecs: uint32(lifetime.Seconds()),
	}
	entity, err := openpgp.NewEntity("Gittest", "", "gittest@example.com", config)
	if err != nil {
		t.Fatal(err)
	}
	k := &Key{t: t, entity: entity, made: made, Name: "PGP key " + entity.PrimaryKey.KeyIdString()}
	k.Public = k.armored(openpgp.PublicKeyType, func(out *bytes.Buffer) error { return entity.Serialize(out) })
	return k
}

// NewSSHKey makes an SSH key.
func NewSSHKey(t testing.TB) *Key {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return &Key{
		t: t, signer: signer, Namespace: "git", Public: string(ssh.MarshalAuthorizedKey(signer.PublicKey())),
		Name: "SSH key " + ssh.FingerprintSHA256(signer.PublicKey()),
	}
}

// Sign returns the armored signature of a text.
func (k *Key) Sign(text string) string {
	k.t.Helper()
	if k.signer != nil {
		return k.signSSH(text)
	}
	at := k.made.Add(time.Minute) // a key that expires has not yet
	config := &packet.Config{Time: func() time.Time { return at }}
	return k.armored(openpgp.SignatureType, func(out *bytes.Buffer) error {
		return openpgp.DetachSign(out, k.entity, strings.NewReader(text), config)
	})
}

func (k *Key) armored(kind string, write func(*bytes.Buffer) error) string {
	k.t.Helper()
	var content, out bytes.Buffer
	if err := write(&content); err != nil {
		k.t.Fatal(err)
	}
	in, err := armor.Encode(&out, kind, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := in.Write(content.Bytes()); err != nil {
		k.t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		k.t.Fatal(err)
	}
	return out.String() + "\n"
}

// signSSH writes what OpenSSH's PROTOCOL.sshsig describes.
func (k *Key) signSSH(text string) string {
	k.t.Helper()
	hash := sha512.Sum512([]byte(text))
	magic := [6]byte{'S', 'S', 'H', 'S', 'I', 'G'}
	signed := ssh.Marshal(struct {
		Magic                     [6]byte
		Namespace, Reserved, Name string
		Hash                      []byte
	}{magic, k.Namespace, "", "sha512", hash[:]})
	sig, err := k.signer.Sign(rand.Reader, signed)
	if err != nil {
		k.t.Fatal(err)
	}
	content := ssh.Marshal(struct {
		Magic                     [6]byte
		Version                   uint32
		Key                       []byte
		Namespace, Reserved, Name string
		Signature                 []byte
	}{magic, 1, k.signer.PublicKey().Marshal(), k.Namespace, "", "sha512", ssh.Marshal(sig)})
	return string(pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: content}))
}

// SignHead replaces the newest commit of main by one with the same files and the signature of a key, and returns its hash.
func (r *Repo) SignHead(k *Key) string {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	head, body, _ := strings.Cut(r.run("", "cat-file", "commit", Main)+"\n", "\n\n")
	head, _, _ = strings.Cut(head, "\ngpgsig ") // of another key
	header := strings.ReplaceAll(strings.TrimSuffix(k.Sign(head+"\n\n"+body), "\n"), "\n", "\n ")
	return r.WriteCommit(head + "\ngpgsig " + header + "\n\n" + body)
}

// WriteCommit points main at a commit object that is written as it is.
func (r *Repo) WriteCommit(object string) string {
	r.t.Helper()
	hash := r.run(object, "hash-object", "-t", "commit", "-w", "--stdin")
	r.run("", "update-ref", "refs/heads/"+Main, hash)
	return hash
}

// WriteTree writes a tree object as it is, and returns its hash.
func (r *Repo) WriteTree(object string) string {
	r.t.Helper()
	return r.run(object, "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
}

// SignedTag makes a tag object at a commit, "" being main's, with the signature of a key; nil is none.
func (r *Repo) SignedTag(name, commit string, k *Key) {
	r.t.Helper()
	if commit == "" {
		commit = r.Head()
	}
	payload := fmt.Sprintf("object %s\ntype commit\ntag %s\ntagger Gittest <gittest@example.com> 1700000000 +0000\n\nthe tag %s\n", commit, name, name)
	if k != nil {
		payload += k.Sign(payload)
	}
	r.Ref("refs/tags/"+name, r.run(payload, "hash-object", "-t", "tag", "-w", "--stdin"))
}
