package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// damaged says which file cannot be used and what to do about it. A new one in
// its place would make every credential and token handed out earlier worthless.
func damaged(file string, cause error) error {
	return fmt.Errorf("%s is damaged: %w; put it back, or remove the whole directory to start from nothing", file, cause)
}

// noneExists reports whether none of the files exists.
func noneExists(files ...string) (bool, error) {
	for _, file := range files {
		_, err := os.Lstat(file)
		if err == nil {
			return false, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
	}
	return true, nil
}

// writePrivate replaces the file as a whole, so that a crash leaves the old
// content or the new, never a part.
func writePrivate(file string, content []byte) error {
	next := file + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func decodeCert(text []byte) (*x509.Certificate, error) {
	der, err := decodePEM(text, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func readKey(file string) (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	der, err := decodePEM(text, "EC PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	return x509.ParseECPrivateKey(der)
}

func decodePEM(text []byte, kind string) ([]byte, error) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != kind || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("it does not hold one PEM block of type %q", kind)
	}
	return block.Bytes, nil
}
