package signature

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

func (k Keys) verifyPGP(s Signed, now time.Time) (string, error) {
	block, err := armor.Decode(bytes.NewReader(s.Signature))
	if err != nil {
		return "", fmt.Errorf("its PGP signature cannot be read: %w", err)
	}
	body, err := io.ReadAll(block.Body)
	if err != nil {
		return "", fmt.Errorf("its PGP signature cannot be read: %w", err)
	}
	config := &packet.Config{Time: func() time.Time { return now }}
	sig, signer, err := openpgp.VerifyDetachedSignature(k.pgp, bytes.NewReader(s.Payload), bytes.NewReader(body), config)
	switch {
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return "", fmt.Errorf("it was signed with the PGP key %s, which is none of the trusted keys", issuerOf(body))
	case err != nil:
		return "", fmt.Errorf("its signature with the PGP key %s does not hold: %w", issuerOf(body), err)
	}
	if slices.Contains(brokenHashes, sig.Hash) {
		return "", fmt.Errorf("its signature with the PGP key %s is over the hash %s, which is broken", issuerOf(body), sig.Hash)
	}
	return "PGP key " + signer.PrimaryKey.KeyIdString(), nil
}

// brokenHashes are those for which texts with the same hash can be made.
var brokenHashes = []crypto.Hash{crypto.MD5, crypto.RIPEMD160, crypto.SHA1}

// issuerOf is the id of the key with which a signature was made, for messages.
func issuerOf(signature []byte) string {
	p, err := packet.NewReader(bytes.NewReader(signature)).Next()
	if sig, ok := p.(*packet.Signature); ok && err == nil && sig.IssuerKeyId != nil {
		return fmt.Sprintf("%016X", *sig.IssuerKeyId)
	}
	return "without an id"
}
