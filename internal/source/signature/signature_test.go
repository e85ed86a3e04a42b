package signature_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source/signature"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

const unsigned = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\ntext\n"

// withSignature puts a header with a signature behind the headers of a commit.
func withSignature(header, sig string) string {
	head, body, _ := strings.Cut(unsigned, "\n\n")
	return head + "\n" + header + " " + strings.ReplaceAll(strings.TrimSuffix(sig, "\n"), "\n", "\n ") + "\n\n" + body
}

func TestWhatIsSignedIsTheCommitWithoutItsSignatures(t *testing.T) {
	for header, other := range map[signature.Header]signature.Header{signature.HeaderSHA1: signature.HeaderSHA256, signature.HeaderSHA256: signature.HeaderSHA1} {
		text := withSignature(string(header), "first\n\nlast\n")
		head, body, _ := strings.Cut(text, "\n\n")
		text = head + "\n" + string(other) + " of the other\n hash\n\n" + body
		got, err := signature.OfCommit([]byte(text), header)
		if err != nil || string(got.Payload) != unsigned || string(got.Signature) != "first\n\nlast\n" {
			t.Errorf("%s: %q, %q, %v", header, got.Payload, got.Signature, err)
		}
		if _, err := signature.OfCommit([]byte(withSignature(string(other), "x\n")), header); !errors.Is(err, signature.ErrUnsigned) {
			t.Errorf("%s, signed in the other hash only: %v", header, err)
		}
	}
}

func TestTheLastSignatureOfATagCounts(t *testing.T) {
	const begin = "-----BEGIN SSH SIGNATURE-----\n"
	got, err := signature.SplitTag([]byte("tag v1\n\n" + begin + "quoted\n" + begin + "real\n"))
	if err != nil || string(got.Payload) != "tag v1\n\n"+begin+"quoted\n" || string(got.Signature) != begin+"real\n" {
		t.Errorf("%q, %q, %v", got.Payload, got.Signature, err)
	}
}

// No input of a server makes verification panic, and a signature holds for nothing but the text that was signed.
func FuzzVerify(f *testing.F) {
	pgp, shell := gittest.NewPGPKey(f, 0), gittest.NewSSHKey(f)
	keys, err := signature.ParseKeys(pgp.Public, shell.Public)
	if err != nil {
		f.Fatal(err)
	}
	for _, k := range []*gittest.Key{pgp, shell} {
		f.Add([]byte(withSignature("gpgsig", k.Sign(unsigned))), false)
		f.Add([]byte(unsigned+k.Sign(unsigned)), true)
	}
	f.Add([]byte("gpgsig\n \n\n"), false)
	f.Fuzz(func(t *testing.T, data []byte, tag bool) {
		signed, err := signature.SplitTag(data)
		if !tag {
			signed, err = signature.OfCommit(data, signature.HeaderSHA1)
		}
		if err != nil {
			return
		}
		if by, err := keys.Verify(signed, time.Now()); err == nil && !bytes.Equal(signed.Payload, []byte(unsigned)) {
			t.Errorf("%q is verified with %s", data, by)
		}
	})
}

// Whatever a Secret holds, reading its keys ends.
func FuzzParseKeys(f *testing.F) {
	f.Add(gittest.NewPGPKey(f, 0).Public, gittest.NewSSHKey(f).Public)
	f.Add("-----BEGIN PGP PUBLIC KEY BLOCK-----", "# no key\n\n")
	f.Fuzz(func(t *testing.T, pgp, ssh string) {
		if keys, err := signature.ParseKeys(pgp, ssh); err == nil {
			if _, err := keys.Verify(signature.Signed{Payload: []byte("x")}, time.Now()); err == nil {
				t.Error("nothing at all is a signature")
			}
		}
	})
}
