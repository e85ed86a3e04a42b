// Package configmap answers: where is the record of what we put there?
//
// In: records.
// Out: one ConfigMap for each app, in the app's namespace.
// Promise: one write for each Save that changes something, none for others; what another writer has changed is not written over, and
// what we wrote ourselves without an answer is not taken for that; what others put into the ConfigMap's metadata stays. A controller's Store reads all records at once, now and then, and each
// by itself only where another writer changed it.
// Not here: what is in a record (inventory).
package configmap

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
)

// Label is on every ConfigMap that holds a record, with the value "true".
const Label = "truce.dev/inventory"

// manager is the name that the writes bear in managedFields: not field.Manager, which owns what Git names.
const manager = "truce-controller"

const pageSize = 500

var resource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Store keeps records in ConfigMaps. The zero Store with a Cluster works.
type Store struct {
	Cluster *cluster.Client
	// Namespaces are those of the apps; none means all.
	Namespaces cluster.Namespaces
	// Key authenticates the records; nil for reading them unchecked and writing none.
	Key *Key
	// Reading says how records are read.
	Reading Reading
	// Clock decides when a list of all records is too old; nil is the machine's.
	Clock clock.PassiveClock

	mu              sync.Mutex
	seen            map[app.Key]version
	unansweredTexts map[app.Key][]textSum // by app: texts that were sent since, and not answered
	writes          uint64                // how often seen was changed

	all recordCache
}

// Reading says how a Store reads records.
type Reading string

// The values of Reading.
const (
	Each Reading = ""    // one by one, whenever one is loaded: for a command about one app
	All  Reading = "all" // all in one paged list, the first time and when that is old: for a controller, which leads and is alone in writing
)

// version is what was last read or written.
type version struct {
	resourceVersion string // empty: there is none
	sum             textSum
	text            object.Packed // of the record; kept only where all are read at once
	at              uint64        // Store.writes
	unverified      string        // why its signature was not verified; empty where it was
}

var _ inventory.Store = (*Store)(nil)

// Load reads a record.
func (s *Store) Load(ctx context.Context, key app.Key) (inventory.Record, error) {
	if s.Reading == All {
		if r, known, err := s.loadCached(ctx, key); known || err != nil {
			return r, err
		}
	}
	u, err := s.configMaps(key.Namespace).Get(ctx, configMapName(key), metav1.GetOptions{})
	if cluster.IsAbsent(err, configMapName(key)) {
		s.remember(key, version{})
		return inventory.Record{App: key}, nil
	}
	if err != nil {
		return inventory.Record{}, fmt.Errorf("load inventory of %s: %w", key, err)
	}
	r, text, err := readRecord(u)
	if err == nil && r.App != key {
		err = fmt.Errorf("it is the record of %s", r.App)
	}
	if err != nil {
		return inventory.Record{}, fmt.Errorf("load inventory of %s from ConfigMap %s: %w", key, configMapName(key), err)
	}
	v, err := s.verified(ctx, u, text)
	if err != nil {
		return inventory.Record{}, err
	}
	s.remember(key, v)
	return inventory.Unverified(r, v.unverified), nil
}

// verified is a record as it stands in the cluster, and whether its signature is right.
func (s *Store) verified(ctx context.Context, u *unstructured.Unstructured, text []byte) (version, error) {
	v := s.versionOf(u.GetResourceVersion(), text)
	mac, _, _ := unstructured.NestedString(u.Object, "data", macKey)
	var err error
	v.unverified, err = s.Key.verify(ctx, text, mac)
	return v, err
}

// All reads the records of all apps, also of those that are gone. One that cannot be read is an error.
func (s *Store) All(ctx context.Context) ([]inventory.Record, error) {
	var out []inventory.Record
	err := s.list(ctx, func(u *unstructured.Unstructured) error {
		r, _, err := readRecord(u)
		if err != nil {
			return fmt.Errorf("ConfigMap %s/%s: %w", u.GetNamespace(), u.GetName(), err)
		}
		out = append(out, r)
		return nil
	})
	return out, err
}

// list hands over all ConfigMaps that bear our label.
func (s *Store) list(ctx context.Context, take func(*unstructured.Unstructured) error) error {
	for _, namespace := range s.Namespaces.Each() {
		if err := s.listIn(ctx, namespace, take); err != nil {
			return err
		}
	}
	return nil
}

// listIn lists those of one namespace, or of all, in pages of one moment.
func (s *Store) listIn(ctx context.Context, namespace string, take func(*unstructured.Unstructured) error) error {
	opts := metav1.ListOptions{LabelSelector: Label + "=true", Limit: pageSize}
	for {
		page, err := s.configMaps(namespace).List(ctx, opts)
		if err != nil {
			return fmt.Errorf("list inventories: %w", err)
		}
		for i := range page.Items {
			if err := take(&page.Items[i]); err != nil {
				return fmt.Errorf("list inventories: %w", err)
			}
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return nil
		}
	}
}

// Save writes a record.
func (s *Store) Save(ctx context.Context, r inventory.Record) error {
	text, err := inventory.FormatRecord(r)
	if err != nil {
		return fmt.Errorf("save inventory of %s: %w", r.App, err)
	}
	was := s.lastSeen(r.App)
	next := textSum(sha256.Sum256(text))
	mac, err := s.Key.mac(ctx, text)
	if err != nil {
		return fmt.Errorf("save inventory of %s: %w", r.App, err)
	}
	if was.resourceVersion != "" && was.sum == next && (was.unverified == "" || mac == "") && len(s.unanswered(r.App)) == 0 {
		return nil
	}
	saved, err := s.write(ctx, r.App, signed{text, mac}, was.resourceVersion)
	if isRefusal(err) {
		saved, err = s.retryWrite(ctx, r.App, signed{text, mac}, err)
	}
	if err != nil {
		if mayBeStored(err) {
			s.addUnanswered(r.App, next)
		}
		return s.writeError("save", r.App, err)
	}
	v, err := s.verified(ctx, saved, text)
	if err != nil {
		return s.writeError("save", r.App, err)
	}
	s.remember(r.App, v)
	return nil
}

// write creates the ConfigMap, or merges the text into the version of it that is known.
func (s *Store) write(ctx context.Context, key app.Key, r signed, resourceVersion string) (*unstructured.Unstructured, error) {
	o, err := configMap(key, r, resourceVersion)
	if err != nil {
		return nil, err
	}
	if resourceVersion == "" {
		return s.configMaps(key.Namespace).Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{FieldManager: manager})
	}
	patch, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return s.configMaps(key.Namespace).Patch(ctx, configMapName(key), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
}

// Delete removes a record.
func (s *Store) Delete(ctx context.Context, key app.Key) error {
	opts := metav1.DeleteOptions{}
	if was := s.lastSeen(key); was.resourceVersion != "" {
		opts.Preconditions = &metav1.Preconditions{ResourceVersion: &was.resourceVersion}
	}
	err := s.configMaps(key.Namespace).Delete(ctx, configMapName(key), opts)
	if err != nil && !cluster.IsAbsent(err, configMapName(key)) {
		return s.writeError("delete", key, err)
	}
	s.remember(key, version{})
	return nil
}

// writeError says what a refused write means. After it nothing is known of the record, so that only Load leads on.
func (s *Store) writeError(verb string, key app.Key, err error) error {
	if isRefusal(err) {
		s.forget(key)
		err = errors.Join(inventory.ErrChanged, err)
	}
	return fmt.Errorf("%s inventory of %s: %w", verb, key, err)
}

// isRefusal reports whether the server says that there is not what was known.
func isRefusal(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func (s *Store) configMaps(namespace string) dynamic.ResourceInterface {
	return s.Cluster.Dynamic().Resource(resource).Namespace(namespace)
}
