package configmap

import (
	"bytes"
	"context"
	"maps"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// HookHolders implements inventory.Store. Where all records are read at once, it answers from memory. A record that cannot be read has no say.
func (s *Store) HookHolders(ctx context.Context, id object.ID) ([]app.Key, error) {
	if s.Reading == All {
		if err := s.renew(ctx); err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		if all, known := s.cached(); known {
			return s.hookHoldersIn(all, id)
		}
	}
	var out []app.Key
	err := s.list(ctx, func(u *unstructured.Unstructured) error {
		if r, text, err := readRecord(u); err == nil && hasHook(text, id) {
			out = append(out, r.App)
		}
		return nil
	})
	return out, err
}

// cached are the records that are in memory; known says that these are all.
func (s *Store) cached() (all map[app.Key]version, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen), !s.all.listed.IsZero() && len(s.all.doubts) == 0
}

func (s *Store) hookHoldersIn(all map[app.Key]version, id object.ID) ([]app.Key, error) {
	var out []app.Key
	for key, v := range all {
		text, err := s.all.texts.Text(v.text)
		if err != nil {
			return nil, err
		}
		if hasHook(text, id) {
			out = append(out, key)
		}
	}
	return out, nil
}

// hasHook reports whether the text of a record has an object as that of a hook: of the operation's hooks its ID ends the key, and it is what is left of those
// before. Entries have the parts of an ID by themselves.
func hasHook(text []byte, id object.ID) bool {
	name := id.String() + `"`
	return bytes.Contains(text, []byte(`"`+name)) || bytes.Contains(text, []byte(" "+name))
}
