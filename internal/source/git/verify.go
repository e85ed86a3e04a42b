package git

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/signature"
)

const tagNames = "refs/tags/"

// verify checks the signatures that are asked for, and says what was verified.
func (r *repository) verify(at revision, want ref, v source.Verification) (string, error) {
	if !v.Commit && !v.Tag {
		return "", nil
	}
	keys, err := signature.ParseKeys(v.PGP, v.SSH)
	if err != nil {
		return "", sourceError(source.VerificationError, "Secret %s: %w", v.Secret, err)
	}
	c := check{repo: r, keys: keys, secret: v.Secret, now: time.Now()}
	var done []string
	if v.Tag {
		by, err := c.tag(at, want)
		if err != nil {
			return "", err
		}
		done = append(done, by)
	}
	if v.Commit {
		by, err := c.commit(at.commit)
		if err != nil {
			return "", err
		}
		done = append(done, by)
	}
	return "verified signature of " + strings.Join(done, " and "), nil
}

// check verifies objects of a repository.
type check struct {
	repo   *repository
	keys   signature.Keys
	secret string
	now    time.Time
}

func (c check) commit(hash string) (string, error) {
	got, err := c.repo.read(hash)
	if err != nil {
		return "", err
	}
	header := signature.HeaderSHA1
	if len(got.hash) == 64 {
		header = signature.HeaderSHA256
	}
	signed, err := signature.OfCommit(got.data, header)
	return c.signed("commit "+hash, signed, err)
}

// tag verifies the tag object that a reference stands at. Its own name must be that of the reference: a signed tag that was
// copied to another name would make an old version a new one.
func (c check) tag(at revision, want ref) (string, error) {
	name := strings.TrimPrefix(want.name, tagNames)
	if want.allowed != nil {
		name = at.show
	} else if name == want.name || want.commit != "" {
		return "", sourceError(source.VerificationFailed, "the signature of a tag is asked for, and the reference is no tag: name a tag or semver in spec.ref")
	}
	stored, err := c.repo.read(keptRef(tagNames + name))
	if err == nil && stored.kind == "" {
		stored, err = c.repo.read(tagNames + name) // a repository on this machine
	}
	if err != nil {
		return "", err
	}
	object := fmt.Sprintf("tag %q", name)
	if stored.kind != "tag" {
		return "", sourceError(source.VerificationFailed, "%s is not annotated, so it cannot be signed: make it with git tag --sign", object)
	}
	head, _, _ := bytes.Cut(stored.data, []byte("\n\n"))
	if own := tagName(head); own != name {
		return "", sourceError(source.VerificationFailed, "%s holds the tag object of another tag, %.80q", object, own)
	}
	if led, err := c.repo.read(stored.hash + "^{commit}"); err != nil || led.hash != at.commit {
		return "", cmp.Or(err, sourceError(source.VerificationFailed, "%s has moved to another commit meanwhile", object))
	}
	signed, err := signature.SplitTag(stored.data)
	return c.signed(object, signed, err)
}

func tagName(head []byte) string {
	for line := range bytes.Lines(head) {
		if name, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("tag ")); ok {
			return string(name)
		}
	}
	return ""
}

// signed verifies an object that was parted, or says why it could not be.
func (c check) signed(object string, signed signature.Signed, err error) (string, error) {
	by := ""
	if err == nil {
		by, err = c.keys.Verify(signed, c.now)
	}
	switch {
	case errors.Is(err, signature.ErrUnsigned):
		return "", sourceError(source.VerificationFailed, "%s has no signature", object)
	case err != nil:
		return "", sourceError(source.VerificationFailed, "%s is not verified with the keys of Secret %s: %w", object, c.secret, err)
	}
	return object + " with " + by, nil
}
