// Package sopstest answers: how does a test encrypt a file as SOPS does?
//
// In: a text, and an age key that the test makes.
// Out: the text encrypted, by an encryption of its own: it shares no code with what decrypts.
// Promise: the sops program decrypts what it makes.
// Not here: rules which values are encrypted but one regular expression, keys of PGP and KMS, key groups: testdata of render/sops has those.
package sopstest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"go.yaml.in/yaml/v3"
)

// Key is an age key.
type Key struct{ identity *age.X25519Identity }

// NewKey makes a key.
func NewKey(t testing.TB) Key {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return Key{id}
}

// Secret is the key as an entry *.agekey of a Secret has it.
func (k Key) Secret() string { return "# made by a test\n" + k.identity.String() + "\n" }

// Recipient is the public part.
func (k Key) Recipient() string { return k.identity.Recipient().String() }

// encryption is that of one file.
type encryption struct {
	t     testing.TB
	key   []byte
	sum   hash.Hash
	match *regexp.Regexp
}

func newEncryption(t testing.TB, keys string) *encryption {
	e := &encryption{t: t, key: make([]byte, 32), sum: sha512.New(), match: regexp.MustCompile(keys)}
	_, _ = rand.Read(e.key) // never fails
	return e
}

// YAML encrypts the values below keys that match a regular expression.
func (k Key) YAML(t testing.TB, keys, text string) string {
	t.Helper()
	e := newEncryption(t, keys)
	var documents []string
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var n yaml.Node
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e.node(n.Content[0], nil)
		out, err := yaml.Marshal(&n)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(out))
	}
	enc, modified, mac := e.end(k)
	metadata := fmt.Sprintf("sops:\n    age:\n        - recipient: %s\n          enc: |\n%s\n    lastmodified: %q\n    mac: %s\n    encrypted_regex: %s\n    version: 3.13.3\n",
		k.Recipient(), indented(enc), modified, mac, quoted(keys))
	return strings.Join(documents, metadata+"---\n") + metadata
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func indented(s string) string {
	const by = "            "
	return by + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+by)
}

func (e *encryption) node(n *yaml.Node, path []string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			e.node(n.Content[i+1], append(path[:len(path):len(path)], n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			e.node(c, path)
		}
	case yaml.ScalarNode:
		e.scalar(n, path)
	default: // the tests encrypt neither aliases nor streams
	}
}

func (e *encryption) scalar(n *yaml.Node, path []string) {
	kind, text := "str", n.Value
	switch n.ShortTag() {
	case "!!null":
		return
	case "!!int":
		kind = "int"
	case "!!bool":
		kind, text = "bool", strings.ToUpper(text[:1])+text[1:]
	}
	e.sum.Write([]byte(text))
	for _, key := range path {
		if e.match.MatchString(key) && text != "" {
			n.SetString(e.seal(text, kind, strings.Join(path, ":")+":"))
			return
		}
	}
}

func (e *encryption) seal(text, kind, bound string) string {
	block, err := aes.NewCipher(e.key)
	if err != nil {
		e.t.Fatal(err)
	}
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce) // never fails
	gcm, err := cipher.NewGCMWithNonceSize(block, len(nonce))
	if err != nil {
		e.t.Fatal(err)
	}
	out := gcm.Seal(nil, nonce, []byte(text), []byte(bound))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("ENC[AES256_GCM,data:%s,iv:%s,tag:%s,type:%s]", encode(out[:len(out)-16]), encode(nonce), encode(out[len(out)-16:]), kind)
}

// end returns the data key for k, the time, and the MAC.
func (e *encryption) end(k Key) (enc, modified, mac string) {
	var out strings.Builder
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, k.identity.Recipient())
	if err == nil {
		_, err = w.Write(e.key)
	}
	if err != nil || w.Close() != nil || armored.Close() != nil {
		e.t.Fatal("encrypt the data key: ", err)
	}
	modified = time.Now().UTC().Format(time.RFC3339)
	return out.String(), modified, e.seal(strings.ToUpper(hex.EncodeToString(e.sum.Sum(nil))), "str", modified)
}

// Dotenv encrypts the values of lines KEY=value.
func (k Key) Dotenv(t testing.TB, text string) string {
	t.Helper()
	e := newEncryption(t, "")
	var out strings.Builder
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		e.sum.Write([]byte(value))
		out.WriteString(key + "=" + e.seal(value, "str", key+":") + "\n")
	}
	enc, modified, mac := e.end(k)
	fmt.Fprintf(&out, "sops_age__list_0__map_enc=%s\nsops_age__list_0__map_recipient=%s\n", strings.ReplaceAll(enc, "\n", `\n`), k.Recipient())
	fmt.Fprintf(&out, "sops_lastmodified=%s\nsops_mac=%s\nsops_unencrypted_suffix=_unencrypted\nsops_version=3.13.3\n", modified, mac)
	return out.String()
}
