package sops

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// valueStart begins every encrypted value.
const valueStart = "ENC[AES256_GCM,"

var encryptedValue = regexp.MustCompile(`^ENC\[AES256_GCM,data:([^,]+),iv:([^,]+),tag:([^,]+),type:([a-z]+)\]$`)

// macOnlyEncryptedStart begins what the MAC covers where it covers encrypted values alone.
var macOnlyEncryptedStart = sha256.Sum256([]byte(metadataKey))

// ErrMAC is the cause where a file is not what was encrypted.
var ErrMAC = errors.New("the file was changed after it was encrypted (MAC mismatch): SOPS would refuse it too; edit it with `sops edit`, or encrypt it again")

// opening is the decryption of documents that were encrypted together.
type opening struct {
	key  []byte
	meta *metadata
	sum  hash.Hash
	file *File
}

// decryptGroup decrypts documents that were encrypted together, and checks their MAC.
func (f *File) decryptGroup(ctx context.Context, group []*document, keys Keys) error {
	meta := group[0].metadata
	key, err := keys.dataKey(ctx, meta)
	if err != nil {
		return err
	}
	o := opening{key: key, meta: meta, sum: sha512.New(), file: f}
	if meta.onlyEncrypted {
		o.sum.Write(macOnlyEncryptedStart[:])
	}
	for _, d := range group {
		before := len(f.secrets)
		if err := o.block(d.root, nil, nil); err != nil {
			return err
		}
		if d.keep {
			f.secrets = f.secrets[:before]
		}
	}
	want, _, err := o.decrypt(meta.mac, meta.modified)
	if err != nil {
		return fmt.Errorf("%s.mac: %w", metadataKey, ErrMAC)
	}
	text, _ := want.(string)
	if is := strings.ToUpper(hex.EncodeToString(o.sum.Sum(nil))); !hmac.Equal([]byte(is), []byte(text)) {
		return ErrMAC
	}
	return nil
}

// block decrypts a mapping or list in place. comments are those that stand before what it is in.
func (o *opening) block(b *block, path []string, comments [][]string) error {
	comments = append(slices.Clip(comments), nil)
	here := len(comments) - 1
	for n := range b.items {
		i := &b.items[n]
		if i.comment != nil {
			comments[here] = append(slices.Clip(comments[here]), i.comment.text)
			if err := o.comment(i.comment, path, comments); err != nil {
				return err
			}
			continue
		}
		at := path
		if !b.list {
			at = append(slices.Clip(path), i.key)
		}
		if err := o.item(i, at, comments); err != nil {
			return err
		}
		comments[here] = nil
	}
	return nil
}

func (o *opening) item(i *item, path []string, comments [][]string) error {
	switch v := i.value.(type) {
	case nil:
		return nil
	case *block:
		return o.block(v, path, comments)
	}
	if !o.meta.rule.encrypts(path, comments, false) {
		if o.meta.onlyEncrypted {
			return nil
		}
		return o.cover(i.value)
	}
	text, ok := i.value.(string)
	if !ok {
		return fmt.Errorf("%s: not encrypted, and it should be: encrypt the file again", shownPath(path))
	}
	if text == "" { // SOPS leaves it as it is
		return nil
	}
	value, kind, err := o.decrypt(text, boundTo(path))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", shownPath(path), err)
	case kind == commentType:
		s, _ := value.(string)
		i.comment, i.value = &comment{text: s, element: true}, nil
		return nil
	}
	s := &secret{value: value, public: isIdentity(path)}
	i.value = s
	o.file.secrets = append(o.file.secrets, s)
	return o.cover(value)
}

// comment decrypts a comment. One that cannot be decrypted was never encrypted, which the MAC does not cover.
func (o *opening) comment(c *comment, path []string, comments [][]string) error {
	if !o.meta.rule.encrypts(path, comments, true) || c.text == "" {
		return nil
	}
	value, kind, err := o.decrypt(c.text, boundTo(path))
	if err != nil {
		return nil
	}
	c.text = plainText(value)
	o.file.secrets = append(o.file.secrets, &secret{value: c.text})
	if kind != commentType {
		return o.cover(value)
	}
	c.inline = false
	return nil
}

// cover adds a leaf to the MAC.
func (o *opening) cover(v any) error {
	text, err := macText(v)
	o.sum.Write([]byte(text))
	return err
}

// boundTo is what a value is bound to, so that it cannot be moved to another key.
func boundTo(path []string) string { return strings.Join(path, ":") + ":" }

func shownPath(path []string) string { return strconv.Quote(strings.Join(path, ".")) }

// names are what an object is known by.
var names = [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}}

func isIdentity(path []string) bool {
	return slices.ContainsFunc(names, func(n []string) bool { return slices.Equal(n, path) })
}

var (
	errForm    = errors.New("not encrypted, or damaged: encrypt the file again")
	errMoved   = errors.New("the value is damaged, was moved to this key from another, or the data key is wrong")
	errContent = errors.New("the decrypted value has another form than its type")
)

const commentType = "comment"

// decrypt opens one value that is bound to a text.
func (o *opening) decrypt(text, bound string) (value any, kind string, err error) {
	parts := encryptedValue.FindStringSubmatch(text)
	if parts == nil {
		return nil, "", errForm
	}
	var raw [3][]byte
	for n := range raw {
		if raw[n], err = base64.StdEncoding.DecodeString(parts[n+1]); err != nil {
			return nil, "", errForm
		}
	}
	data, nonce, tag := raw[0], raw[1], raw[2]
	box, err := aes.NewCipher(o.key)
	if err != nil {
		return nil, "", errMoved
	}
	if len(nonce) == 0 || len(tag) != 16 {
		return nil, "", errForm
	}
	gcm, err := cipher.NewGCMWithNonceSize(box, len(nonce))
	if err != nil {
		return nil, "", errForm
	}
	plain, err := gcm.Open(nil, nonce, slices.Concat(data, tag), []byte(bound))
	if err != nil {
		return nil, "", errMoved
	}
	value, err = typedValue(string(plain), parts[4])
	return value, parts[4], err
}

func typedValue(text, kind string) (v any, err error) {
	switch kind {
	case "str", "bytes", commentType:
		return text, nil
	case "int":
		v, err = strconv.Atoi(text)
	case "float":
		v, err = strconv.ParseFloat(text, 64)
	case "bool":
		v, err = strconv.ParseBool(text)
	case "time":
		var at time.Time
		err = at.UnmarshalText([]byte(text))
		v = at
	default:
		err = errContent
	}
	if err != nil {
		return nil, errContent // the cause quotes the value
	}
	return v, nil
}
