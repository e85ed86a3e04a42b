package configmap

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	plainKey  = "inventory.json"
	zippedKey = "inventory.json.gz"
	zipAt     = 64 << 10 // longer texts are compressed
	maxBytes  = 1 << 20  // of all values of a ConfigMap, before base64 (core/v1 MaxSecretSize)
	maxText   = 64 << 20 // what unpacks to more was not written by us
)

// maxName is the longest name of an object.
const maxName = 253

// configMapName returns the ConfigMap's name: readable, and cut to a hash where it would be too long.
func configMapName(key app.Key) string {
	s := "truce-inventory-" + strings.ToLower(key.Kind) + "-" + key.Name
	if len(s) <= maxName {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.TrimRight(s[:maxName-17], "-.") + "-" + hex.EncodeToString(sum[:8])
}

// signed is a record's text and its signature, which is empty without a key.
type signed struct {
	text []byte
	mac  string
}

// configMap is the object to create, or, with the version that it is meant for, to merge into the one that is there.
func configMap(key app.Key, r signed, resourceVersion string) (map[string]any, error) {
	meta := map[string]any{"name": configMapName(key), "namespace": key.Namespace, "labels": map[string]any{Label: "true"}}
	text := r.text
	plain, zipped := map[string]any{plainKey: string(text)}, map[string]any{}
	if len(text) > zipAt {
		packed, err := compressText(text)
		if err != nil {
			return nil, err
		}
		plain, zipped = map[string]any{}, map[string]any{zippedKey: packed}
	}
	if resourceVersion != "" { // nil removes the other form
		meta["resourceVersion"] = resourceVersion
		if len(text) > zipAt {
			plain[plainKey] = nil
		} else {
			zipped[zippedKey] = nil
		}
		plain[macKey] = nil
	}
	if r.mac != "" {
		plain[macKey] = r.mac
	}
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": plain, "binaryData": zipped}, nil
}

func compressText(text []byte) (string, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	if b.Len() > maxBytes {
		return "", fmt.Errorf("%d bytes, compressed from %d; a ConfigMap holds %d: split the app", b.Len(), len(text), maxBytes)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// readRecord returns the record in a ConfigMap, and its text.
func readRecord(u *unstructured.Unstructured) (inventory.Record, []byte, error) {
	text, err := recordText(u)
	if err != nil {
		return inventory.Record{}, nil, err
	}
	r, err := inventory.ParseRecord(text)
	return r, text, err
}

func recordText(u *unstructured.Unstructured) ([]byte, error) {
	text, isPlain, err := unstructured.NestedString(u.Object, "data", plainKey)
	if err != nil {
		return nil, err
	}
	packed, isZipped, err := unstructured.NestedString(u.Object, "binaryData", zippedKey)
	if err != nil {
		return nil, err
	}
	switch {
	case isPlain == isZipped:
		return nil, fmt.Errorf("want one of %s and %s in it", plainKey, zippedKey)
	case isPlain:
		return []byte(text), nil
	}
	return decompressText(packed)
}

func decompressText(packed string) ([]byte, error) {
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", zippedKey, err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxText+1))
	if err == nil && len(text) > maxText {
		err = errors.New("unpacks to too much")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", zippedKey, err)
	}
	return text, nil
}
