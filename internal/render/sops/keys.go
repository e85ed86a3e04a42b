package sops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
	"github.com/ProtonMail/go-crypto/openpgp"
	pgparmor "github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/truce-gitops/truce/internal/render/keys"
)

// Extensions of the entries of a Secret that hold keys, as in Flux.
const (
	AgeExtension = ".agekey"
	PGPExtension = ".asc"
)

// Keys decrypt the data keys of files.
type Keys struct {
	age     []age.Identity
	pgp     openpgp.EntityList
	of      keys.Set
	service keys.Service // nil for none
}

// ReadKeys reads the keys of an app; service may be nil. No part of a key is in an error.
func ReadKeys(d keys.Set, service keys.Service) (Keys, error) {
	out := Keys{of: d}
	if d.Service {
		out.service = service
	}
	for _, name := range slices.Sorted(maps.Keys(d.Keys)) {
		var err error
		switch path.Ext(name) {
		case AgeExtension:
			err = out.addAge(d.Keys[name])
		case PGPExtension:
			err = out.addPGP(d.Keys[name])
		}
		if err != nil {
			return Keys{}, fmt.Errorf("key %s of the decryption Secret %s: %w", name, d.Secret, err)
		}
	}
	return out, nil
}

// addAge adds the identities of a text: one a line, or a private key of SSH.
func (k *Keys) addAge(text string) error {
	if strings.Contains(text, "PRIVATE KEY-----") {
		id, err := agessh.ParseIdentity([]byte(text))
		if err != nil {
			return errors.New("no private SSH key of a type that age reads, or one with a passphrase: use an age key, or an SSH key (ed25519 or RSA) without a passphrase")
		}
		k.age = append(k.age, id)
		return nil
	}
	if strings.Contains(text, "AGE-PLUGIN-") {
		return errors.New("keys of age plug-ins are not used, because a plug-in is a program: add a key of age-keygen to the file and to the Secret")
	}
	ids, err := age.ParseIdentities(strings.NewReader(strings.ReplaceAll(text, "\r", "")))
	if err != nil {
		return errors.New("no age key: want lines that begin with AGE-SECRET-KEY-, as age-keygen writes them")
	}
	k.age = append(k.age, ids...)
	return nil
}

// addPGP adds the private keys of an armored text.
func (k *Keys) addPGP(text string) error {
	list, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text))
	if err != nil {
		return errors.New("no armored PGP key: want what `gpg --export-secret-keys --armor` writes")
	}
	usable := 0
	for _, e := range list {
		if e.PrivateKey == nil {
			continue
		}
		if e.PrivateKey.Encrypted {
			return errors.New("the PGP key has a passphrase, and there is no place to give one: export it without")
		}
		usable++
	}
	if usable == 0 {
		return errors.New("a public PGP key decrypts nothing: want what `gpg --export-secret-keys --armor` writes")
	}
	k.pgp = append(k.pgp, list...)
	return nil
}

// dataKeySize is that of AES-256.
const dataKeySize = 32

// dataKey returns the key of a file, or says which keys would decrypt it.
func (k Keys) dataKey(ctx context.Context, m *metadata) ([]byte, error) {
	need := m.threshold
	switch {
	case len(m.groups) == 1:
		need = 1
	case need == 0:
		need = len(m.groups)
	}
	var parts [][]byte
	var problems []error
	for _, group := range m.groups {
		part, err := k.part(ctx, group)
		if err != nil {
			problems = append(problems, err)
		}
		if part == nil {
			continue
		}
		if parts = append(parts, part); len(parts) == need {
			break
		}
	}
	if len(parts) < need {
		return nil, k.noKey(m, need, len(parts), problems)
	}
	key := parts[0]
	if len(m.groups) > 1 {
		var err error
		if key, err = combineParts(parts); err != nil {
			return nil, err
		}
	}
	if len(key) != dataKeySize {
		return nil, fmt.Errorf("the data key has %d bytes, want %d: encrypt the file again", len(key), dataKeySize)
	}
	return key, nil
}

// part decrypts the part of a group by one of its keys, those at hand first; nil where none does, with what the key service says.
func (k Keys) part(ctx context.Context, group []keys.Master) ([]byte, error) {
	for _, m := range group {
		if key, err := k.byKeyAtHand(m); err == nil {
			return key, nil
		}
	}
	var problems []error
	for _, m := range group {
		if m.Kind == keys.Age || m.Kind == keys.PGP || k.service == nil {
			continue
		}
		key, err := k.service.DecryptKey(ctx, m)
		if err == nil {
			return key, nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", describeKey(m), err))
	}
	return nil, errors.Join(problems...)
}

// errNotAtHand is the error for a key of a kind of which there is none.
var errNotAtHand = errors.New("no key of this kind")

func (k Keys) byKeyAtHand(m keys.Master) ([]byte, error) {
	switch {
	case m.Kind == keys.Age && len(k.age) > 0:
		return k.byAge(m.Encrypted)
	case m.Kind == keys.PGP && len(k.pgp) > 0:
		return k.byPGP(m.Encrypted)
	}
	return nil, errNotAtHand
}

// maxDataKey bounds what is read of a decrypted data key or part of one.
const maxDataKey = 1 << 10

func (k Keys) byAge(text string) ([]byte, error) {
	plain, err := age.Decrypt(armor.NewReader(strings.NewReader(text)), k.age...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(plain, maxDataKey))
}

func (k Keys) byPGP(text string) ([]byte, error) {
	block, err := pgparmor.Decode(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	message, err := openpgp.ReadMessage(block.Body, k.pgp, nil, nil)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(message.UnverifiedBody, maxDataKey))
}

// noKey says which keys would decrypt the file.
func (k Keys) noKey(m *metadata, need, have int, problems []error) error {
	const most = 5
	var named []string
	remote := false
	for _, group := range m.groups {
		for _, key := range group {
			named = append(named, describeKey(key))
			remote = remote || key.Kind != keys.Age && key.Kind != keys.PGP
		}
	}
	if more := len(named) - most; more > 0 {
		named = append(named[:most], fmt.Sprintf("%d more", more))
	}
	text := "cannot get sops data key: "
	if len(m.groups) > 1 {
		text += fmt.Sprintf("%d of %d key groups are needed, and %d can be decrypted: ", need, len(m.groups), have)
	}
	text += "the file is encrypted for " + strings.Join(named, ", ") + "; "
	switch {
	case k.of.Secret == "":
		text += "and spec.decryption has no secretRef: name a Secret with one of the keys"
	case len(k.age)+len(k.pgp) == 0:
		text += "and the Secret " + k.of.Secret + " has no key of age (*" + AgeExtension + ") or PGP (*" + PGPExtension + ")"
	default:
		text += "none of the keys in the Secret " + k.of.Secret + " decrypts it: add the private key, or encrypt the file for a key that is there (`sops updatekeys`)"
	}
	if remote && k.service == nil {
		text += "; keys of KMS and Vault are used through `sops keyservice` alone: run one beside truce and start truce with --sops-keyservice"
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return errors.New(text)
}

// kindNames are the kinds as messages name them.
var kindNames = map[keys.Kind]string{
	keys.Age: "age", keys.PGP: "PGP", keys.AWS: "AWS KMS", keys.GCP: "GCP KMS", keys.Azure: "Azure Key Vault",
	keys.Vault: "Vault", keys.Huawei: "Huawei Cloud KMS",
}

// describeKey names a key; what names it is public.
func describeKey(m keys.Master) string {
	var parts []string
	for _, k := range keyKinds {
		for _, name := range k.names {
			if v := m.Fields[name]; k.kind == m.Kind && v != "" {
				parts = append(parts, v)
			}
		}
	}
	const most = 200
	text := strings.Join(parts, " ")
	return kindNames[m.Kind] + " " + text[:min(len(text), most)]
}
