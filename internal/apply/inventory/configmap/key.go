package configmap

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key authenticates records: an HMAC over each record's text, which names its app, with a key that lies in a Secret of truce's own namespace.
// The Secret is made when the key is first needed. A user who may write a record's ConfigMap, and may not read that Secret, cannot make a record
// that passes. The process reads the key once.
type Key struct {
	Cluster   *cluster.Client
	Namespace string // of the Secret: truce's own

	mu      sync.Mutex
	bytes   []byte
	refused time.Time   // when it was last forbidden to read or make it; zero for never
	doubt   atomic.Bool // bytes may not be in the Secret any more
}

const (
	keySecret = "truce-inventory-key"
	keyField  = "key"
	keySize   = 32
	macKey    = "inventory.mac" // in the ConfigMap
	macDomain = "truce inventory\x00"
	// sealDomain is that of texts that are no records, so that no seal passes as a record's signature.
	sealDomain = "truce seal\x00"
	// refusalLife is how long a key that is forbidden is not asked for again: a list has many records, and a role may be mended.
	refusalLife = time.Minute
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// mac returns the signature of a record's text; empty where truce may not read the key.
func (k *Key) mac(ctx context.Context, text []byte) (string, error) {
	if k == nil {
		return "", nil
	}
	key, err := k.load(ctx)
	if err != nil || key == nil {
		return "", err
	}
	return signText(key, text), nil
}

// Seal returns the authentication code of a text that is no record; empty where truce may not read the key.
func (k *Key) Seal(ctx context.Context, text string) (string, error) {
	key, err := k.load(ctx)
	if err != nil || key == nil {
		return "", err
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(sealDomain + text))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// verify says why a record's signature is not verified; empty where it is, and without a Key.
func (k *Key) verify(ctx context.Context, text []byte, mac string) (string, error) {
	if k == nil {
		return "", nil
	}
	key, err := k.load(ctx)
	switch {
	case err != nil:
		return "", err
	case key == nil:
		return fmt.Sprintf("truce may not read or make Secret %s/%s, which holds the key", k.Namespace, keySecret), nil
	case mac == "":
		return "it has no signature: a version of truce without signatures wrote it, or another writer", nil
	case !hmac.Equal([]byte(mac), []byte(signText(key, text))):
		return fmt.Sprintf("its signature is wrong: another writer changed it, or the key in Secret %s/%s is a new one", k.Namespace, keySecret), nil
	}
	return "", nil
}

func signText(key, text []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(macDomain))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

// load returns the key, nil where truce may neither read nor make it.
func (k *Key) load(ctx context.Context) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if (k.bytes != nil || time.Since(k.refused) < refusalLife) && !k.doubt.Load() {
		return k.bytes, nil
	}
	k.doubt.Store(false)
	key, err := k.read(ctx)
	if apierrors.IsNotFound(err) {
		if err = k.create(ctx); err == nil || apierrors.IsAlreadyExists(err) {
			key, err = k.read(ctx) // of two processes one has made it
		}
	}
	switch {
	case apierrors.IsForbidden(err):
		k.bytes, k.refused = nil, time.Now()
		return nil, nil
	case err != nil:
		k.doubt.Store(true)
		return nil, fmt.Errorf("key of the inventory in Secret %s/%s: %w", k.Namespace, keySecret, err)
	}
	k.bytes = key
	return key, nil
}

func (k *Key) read(ctx context.Context) ([]byte, error) {
	u, err := k.Cluster.Dynamic().Resource(secrets).Namespace(k.Namespace).Get(ctx, keySecret, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	text, _, _ := unstructured.NestedString(u.Object, "data", keyField)
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) < keySize {
		return nil, fmt.Errorf("data.%s is no key of %d bytes: delete the Secret, and truce makes another", keyField, keySize)
	}
	return key, nil
}

func (k *Key) create(ctx context.Context) error {
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	_, err := k.Cluster.Dynamic().Resource(secrets).Namespace(k.Namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"name": keySecret, "namespace": k.Namespace},
		"data":     map[string]any{keyField: base64.StdEncoding.EncodeToString(key)},
	}}, metav1.CreateOptions{FieldManager: manager})
	return err
}
